// Providers: which server a model's name means, by settings and environment.
package config

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"cairn/llm"
)

// Provider is one of [[providers]]: a server beside [llm]'s.
type Provider struct {
	ID      string `toml:"id"`
	Wire    string `toml:"wire"` // empty: "auto"
	BaseURL string `toml:"base_url"`
	APIKey  string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself; empty: none, or of OpenAI and Anthropic the environment's
}

// wireAuto leaves the wire to the address and to what the server refuses.
const wireAuto = "auto"

var wires = []string{wireAuto, llm.WireChat, llm.WireResponses, llm.WireMessages}

// Where the two providers are that the environment can select.
const (
	OpenAIURL     = "https://api.openai.com/v1"
	AnthropicURL  = "https://api.anthropic.com"
	openAIHost    = "api.openai.com"
	anthropicHost = "api.anthropic.com"
)

// variables are the names of one provider's variables in the environment.
type Variables struct{ Key, URL, Model string }

var (
	OpenAI    = Variables{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}
	Anthropic = Variables{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"}
)

func fromEnvironment(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// selects reports whether the environment names the provider's server.
func (v Variables) selects() bool {
	return fromEnvironment(v.Key) != "" || fromEnvironment(v.URL) != ""
}

// server is where models are.
type Server struct {
	Provider string // its id; empty: [llm]'s or the environment's
	BaseURL  string // never empty
	Wire     string // empty: the model finds out
	Key      string
	KeyName  string // where the key comes from or should: "OPENAI_API_KEY"
	model    string // of the environment, where no setting names one
}

// target is a model on a server; an empty model is chosen from what the server offers.
type Target struct {
	Server
	Model string
}

// target returns which model answers as the agent; ok is false if there is no server.
// The settings go before the environment, and both before the first of [[providers]].
func (s *Settings) Target(agent Agent) (t Target, ok bool, err error) {
	model := cmp.Or(agent.Model, s.LLM.Model)
	if p, name, found := s.providerOf(model); found {
		at, err := s.provider(p, agent.Wire)
		return Target{at, name}, true, err
	}
	wire := agent.Wire
	if wire == "" && agent.BaseURL == "" {
		wire = s.LLM.Wire
	}
	at, ok, err := s.server(cmp.Or(agent.BaseURL, s.LLM.BaseURL), wire)
	if !ok && err == nil && len(s.Providers) > 0 {
		at, err = s.provider(s.Providers[0], agent.Wire)
		ok = true
	}
	return Target{at, cmp.Or(model, at.model)}, ok, err
}

// worker returns which model summarizes for an agent that talks to t.
func (s *Settings) Worker(t Target, model string) (Target, error) {
	if p, name, found := s.providerOf(model); found {
		at, err := s.provider(p, "")
		return Target{at, name}, err
	}
	t.Model = model
	return t, nil
}

// providerOf takes "provider/model" apart, if it begins with the id of a provider.
func (s *Settings) providerOf(model string) (p Provider, name string, found bool) {
	id, name, cut := strings.Cut(model, "/")
	i := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.ID == id })
	if !cut || i < 0 {
		return p, "", false
	}
	return s.Providers[i], name, true
}

// provider is the server of one of [[providers]], with the agent's wire if it sets one.
func (s *Settings) provider(p Provider, wire string) (Server, error) {
	at := Server{Provider: p.ID, BaseURL: p.BaseURL, Wire: wireFor(p.BaseURL, cmp.Or(wire, p.Wire)), KeyName: fmt.Sprintf("api_key of provider %q", p.ID)}
	key, _, err := s.modelKey(p.APIKey)
	if at.Key = key; p.APIKey != "" || err != nil {
		return at, err
	}
	for host, v := range map[string]Variables{openAIHost: OpenAI, anthropicHost: Anthropic} {
		if hostOf(p.BaseURL) == host { // a key goes to nobody else
			at.Key, at.KeyName = fromEnvironment(v.Key), v.Key
		}
	}
	return at, nil
}

// server is [llm]'s, or the environment's if the settings name no address; ok is false
// if neither names an address or a key.
func (s *Settings) server(baseURL, wire string) (at Server, ok bool, err error) {
	key, _, err := s.modelKey(s.LLM.APIKey)
	v, usual := OpenAI, OpenAIURL
	if s.anthropic(baseURL, wire, key) {
		v, usual = Anthropic, AnthropicURL
	}
	if baseURL == "" && key == "" && !v.selects() {
		return Server{}, false, err
	}
	at = Server{Key: key, KeyName: "api_key under [llm]", model: fromEnvironment(v.Model)}
	if key == "" {
		at.Key, at.KeyName = fromEnvironment(v.Key), v.Key
	}
	at.BaseURL = cmp.Or(baseURL, fromEnvironment(v.URL), usual)
	at.Wire = wireFor(at.BaseURL, wire)
	if v == Anthropic {
		at.Wire = cmp.Or(at.Wire, llm.WireMessages)
	}
	return at, true, err
}

// anthropic reports whether Anthropic's variables complete these settings, and not OpenAI's.
func (s *Settings) anthropic(baseURL, wire, key string) bool {
	switch {
	case wire == llm.WireMessages:
		return true
	case baseURL != "":
		return hostOf(baseURL) == anthropicHost
	case wire == llm.WireChat, wire == llm.WireResponses:
		return false
	case key != "":
		return strings.HasPrefix(key, "sk-ant-") || !OpenAI.selects() && Anthropic.selects()
	}
	return !OpenAI.selects() && Anthropic.selects()
}

// ambiguous reports whether the environment names both providers and nothing says which
// of the two an agent means.
func (s *Settings) Ambiguous() bool {
	if !OpenAI.selects() || !Anthropic.selects() {
		return false
	}
	for _, agent := range s.Agents {
		_, _, named := s.providerOf(cmp.Or(agent.Model, s.LLM.Model))
		wire := cmp.Or(agent.Wire, s.LLM.Wire, wireAuto)
		if !named && wire == wireAuto && cmp.Or(agent.BaseURL, s.LLM.BaseURL, s.LLM.APIKey) == "" {
			return true
		}
	}
	return false
}

// wireFor is the wire of an address: what is set, Anthropic's for its own server, else
// empty, which leaves it to the model.
func wireFor(baseURL, wire string) string {
	switch {
	case wire != "" && wire != wireAuto:
		return wire
	case hostOf(baseURL) == anthropicHost:
		return llm.WireMessages
	}
	return ""
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// ShownAddress is an address without what may be secret in it.
func ShownAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// UsedServer is a server that the settings or the environment name, and who uses which of
// its models.
type UsedServer struct {
	Server
	Used map[string][]string // by the model's name; empty: one that is chosen
}

// Servers lists all servers, those in use first.
func (s *Settings) Servers() (all []UsedServer, err error) {
	add := func(at Server, model, user string) {
		i := slices.IndexFunc(all, func(c UsedServer) bool {
			return c.BaseURL == at.BaseURL && c.Key == at.Key && c.Wire == at.Wire && c.Provider == at.Provider
		})
		if i < 0 {
			i = len(all)
			all = append(all, UsedServer{at, map[string][]string{}})
		}
		if user != "" && !slices.Contains(all[i].Used[model], user) {
			all[i].Used[model] = append(all[i].Used[model], user)
		}
	}
	for _, agent := range s.Agents {
		t, ok, err := s.Target(agent)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		add(t.Server, t.Model, "agent "+agent.ID)
		if agent.Compaction.Model != "" {
			if t, err = s.Worker(t, agent.Compaction.Model); err != nil {
				return nil, err
			}
			add(t.Server, t.Model, "summaries of "+agent.ID)
		}
	}
	for _, p := range s.Providers {
		at, err := s.provider(p, "")
		if err != nil {
			return nil, err
		}
		add(at, "", "")
	}
	for _, v := range []Variables{OpenAI, Anthropic} {
		if at, ok := v.server(); ok && !slices.ContainsFunc(all, func(c UsedServer) bool { return c.BaseURL == at.BaseURL && c.Key == at.Key }) {
			add(at, "", "")
		}
	}
	return all, nil
}

// server is the one that the environment selects.
func (v Variables) server() (at Server, ok bool) {
	at = Server{BaseURL: cmp.Or(fromEnvironment(v.URL), OpenAIURL), Key: fromEnvironment(v.Key), KeyName: v.Key}
	if v == Anthropic {
		at.BaseURL, at.Wire = cmp.Or(fromEnvironment(v.URL), AnthropicURL), llm.WireMessages
	}
	at.Wire = wireFor(at.BaseURL, at.Wire)
	return at, v.selects()
}
