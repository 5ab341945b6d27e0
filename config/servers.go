// Providers: which server a model's name refers to, by settings and environment.

package config

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

// Provider is one of [[providers]]: a server in addition to [llm]'s.
type Provider struct {
	ID      string `toml:"id"`
	Wire    string `toml:"wire" one:"- auto chat responses messages"` // empty: "auto"
	BaseURL string `toml:"base_url" server:"http://localhost:11434/v1"`
	APIKey  string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself; empty: for OpenAI and Anthropic the environment's, else none

	StreamIdle compactor.Duration `toml:"stream_idle" range:"0 or 1s to 10m"` // 0: [llm]'s
}

// wireAuto means that the wire depends on the address and on what the server refuses.
const wireAuto = "auto"

// The addresses of the two providers that the environment can select.
const (
	OpenAIURL     = "https://api.openai.com/v1"
	AnthropicURL  = "https://api.anthropic.com"
	openAIHost    = "api.openai.com"
	anthropicHost = "api.anthropic.com"
)

// Variables has the names of one provider's environment variables.
type Variables struct{ Key, URL, Model string }

var (
	OpenAI    = Variables{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}
	Anthropic = Variables{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"}
)

func fromEnvironment(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// selects reports whether the environment selects the provider's server.
func (v Variables) selects() bool {
	return fromEnvironment(v.Key) != "" || fromEnvironment(v.URL) != ""
}

// Server is a model server and how to use it.
type Server struct {
	Provider string // the provider's id; empty: the server of [llm] or of the environment
	BaseURL  string // never empty
	Wire     string // empty: determined by the model
	Key      string
	KeyName  string // where the key comes from or should come from: "OPENAI_API_KEY"

	StreamIdle time.Duration // silence after which an answer has broken off

	model string // from the environment, if no setting names a model
}

// Target is a model on a server; an empty model is chosen from the server's list.
type Target struct {
	Server
	Model string
}

// Target returns the model of an agent; ok is false if there is no server. The settings take
// precedence over the environment, and both over the first of [[providers]].
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
	model, at.model = cmp.Or(model, at.model), "" // equal targets are the same model
	return Target{at, model}, ok, err
}

// Beside returns another model of an agent whose model is t: its worker, a fallback, or a choice.
func (s *Settings) Beside(t Target, model string) (Target, error) {
	if p, name, found := s.providerOf(model); found {
		at, err := s.provider(p, "")
		return Target{at, name}, err
	}
	t.Model = model
	return t, nil
}

// providerOf splits "provider/model" if it starts with the id of a provider.
func (s *Settings) providerOf(model string) (p Provider, name string, found bool) {
	id, name, cut := strings.Cut(model, "/")
	i := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.ID == id })
	if !cut || i < 0 {
		return p, "", false
	}
	return s.Providers[i], name, true
}

// provider returns the server of one of [[providers]], with the agent's wire if it is set.
func (s *Settings) provider(p Provider, wire string) (Server, error) {
	at := Server{
		Provider: p.ID, BaseURL: p.BaseURL, Wire: wireFor(p.BaseURL, cmp.Or(wire, p.Wire)), KeyName: fmt.Sprintf("api_key of provider %q", p.ID),
		StreamIdle: time.Duration(cmp.Or(p.StreamIdle, s.LLM.StreamIdle)),
	}
	key, _, err := s.Resolve(p.APIKey)
	at.Key = key
	if p.APIKey != "" || err != nil {
		return at, err
	}
	for host, v := range map[string]Variables{openAIHost: OpenAI, anthropicHost: Anthropic} {
		if hostOf(p.BaseURL) == host { // a provider's key must not be sent to any other host
			at.Key = fromEnvironment(v.Key)
			at.KeyName = v.Key
		}
	}
	return at, nil
}

// server returns the server of [llm], or the environment's if the settings have no address; ok is
// false if neither has an address or a key.
func (s *Settings) server(baseURL, wire string) (at Server, ok bool, err error) {
	wire = wireFor(baseURL, wire)
	key, _, err := s.Resolve(s.LLM.APIKey)
	v := OpenAI
	usual := OpenAIURL
	if usesAnthropic(baseURL, wire, key) {
		v = Anthropic
		usual = AnthropicURL
	}
	if baseURL == "" && key == "" && !v.selects() {
		return Server{}, false, err
	}
	at = Server{Key: key, KeyName: "api_key under [llm]", StreamIdle: time.Duration(s.LLM.StreamIdle), model: fromEnvironment(v.Model)}
	if key == "" {
		at.Key = fromEnvironment(v.Key)
		at.KeyName = v.Key
	}
	at.BaseURL = cmp.Or(baseURL, fromEnvironment(v.URL), usual)
	at.Wire = wireFor(at.BaseURL, wire)
	if v == Anthropic {
		at.Wire = cmp.Or(at.Wire, llm.WireMessages)
	}
	return at, true, err
}

// usesAnthropic reports whether Anthropic's environment variables complete these settings, not OpenAI's.
func usesAnthropic(baseURL, wire, key string) bool {
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

// Ambiguous reports whether the environment selects both providers and no setting says which counts.
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

// wireFor returns the wire of an address: the one that is set, Anthropic's for its server and
// for the path of Messages, else "", which leaves it to the model.
func wireFor(baseURL, wire string) string {
	switch {
	case wire != "" && wire != wireAuto:
		return wire
	case hostOf(baseURL) == anthropicHost, strings.HasSuffix(strings.TrimRight(baseURL, "/"), "/messages"):
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

// MaskAddress returns an address without parts that may be secret: its password and its query.
func MaskAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" && strings.Contains(address, "@") {
		return "[masked]"
	}
	u.User = nil
	u.RawQuery = ""
	u.Fragment = ""
	return u.String()
}

// UsedServer is a server in the settings or the environment, with the users of its models.
type UsedServer struct {
	Server
	Used map[string][]string // users by model name; empty name: chosen from the server's list
}

// Servers lists all servers, those in use first.
func (s *Settings) Servers() (all []UsedServer, err error) {
	add := func(at Server, model, user string, unread error) {
		err = cmp.Or(err, unread)
		at.model = ""
		i := slices.IndexFunc(all, func(c UsedServer) bool { return c.Server == at })
		if i < 0 {
			i = len(all)
			all = append(all, UsedServer{at, map[string][]string{}})
		}
		if user != "" && !slices.Contains(all[i].Used[model], user) {
			all[i].Used[model] = append(all[i].Used[model], user)
		}
	}
	for _, agent := range s.Agents {
		t, ok, unread := s.Target(agent)
		if !ok && unread == nil {
			continue
		}
		add(t.Server, t.Model, "agent "+agent.ID, unread)
		if agent.Compaction.Model != "" {
			worker, unread := s.Beside(t, agent.Compaction.Model)
			add(worker.Server, worker.Model, "summaries of "+agent.ID, unread)
		}
		for _, model := range agent.Fallback {
			other, unread := s.Beside(t, model)
			add(other.Server, other.Model, "fallback of "+agent.ID, unread)
		}
		for _, model := range agent.Models {
			other, unread := s.Beside(t, model)
			add(other.Server, other.Model, "choice of "+agent.ID, unread)
		}
	}
	for _, p := range s.Providers {
		at, unread := s.provider(p, "")
		add(at, "", "", unread)
	}
	for _, wire := range []string{"", llm.WireMessages} { // of the environment
		if at, ok, _ := new(Settings).server("", wire); ok && !slices.ContainsFunc(all, func(c UsedServer) bool { return c.BaseURL == at.BaseURL && c.Key == at.Key }) {
			add(at, "", "", nil)
		}
	}
	return all, err
}
