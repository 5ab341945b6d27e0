// Providers: which server a model's name means, by settings and environment.
package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"cairn/llm"
)

// providerSettings is one of [[providers]]: a server beside [llm]'s.
type providerSettings struct {
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
	openAIURL     = "https://api.openai.com/v1"
	anthropicURL  = "https://api.anthropic.com"
	openAIHost    = "api.openai.com"
	anthropicHost = "api.anthropic.com"
)

// variables are the names of one provider's variables in the environment.
type variables struct{ key, url, model string }

var (
	openAIVariables    = variables{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}
	anthropicVariables = variables{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"}
)

func fromEnvironment(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// selects tells whether the environment names the provider's server.
func (v variables) selects() bool {
	return fromEnvironment(v.key) != "" || fromEnvironment(v.url) != ""
}

// server is where models are.
type server struct {
	provider string // its id; empty: [llm]'s or the environment's
	baseURL  string // never empty
	wire     string // empty: the model finds out
	key      string
	keyName  string // where the key comes from or should: "OPENAI_API_KEY"
	model    string // of the environment, where no setting names one
}

// target is a model on a server; an empty model is chosen from what the server offers.
type target struct {
	server
	model string
}

// target returns which model answers as the agent; ok is false if there is no server.
// The settings go before the environment, and both before the first of [[providers]].
func (s *settings) target(agent agentSettings) (t target, ok bool, err error) {
	model := cmp.Or(agent.Model, s.LLM.Model)
	if p, name, found := s.providerOf(model); found {
		at, err := s.provider(p, agent.Wire)
		return target{at, name}, true, err
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
	return target{at, cmp.Or(model, at.model)}, ok, err
}

// worker returns which model sums up for an agent that talks to t.
func (s *settings) worker(t target, model string) (target, error) {
	if p, name, found := s.providerOf(model); found {
		at, err := s.provider(p, "")
		return target{at, name}, err
	}
	t.model = model
	return t, nil
}

// providerOf takes "provider/model" apart, if it begins with the id of a provider.
func (s *settings) providerOf(model string) (p providerSettings, name string, found bool) {
	id, name, cut := strings.Cut(model, "/")
	i := slices.IndexFunc(s.Providers, func(p providerSettings) bool { return p.ID == id })
	if !cut || i < 0 {
		return p, "", false
	}
	return s.Providers[i], name, true
}

// provider is the server of one of [[providers]], with the agent's wire if it sets one.
func (s *settings) provider(p providerSettings, wire string) (server, error) {
	at := server{provider: p.ID, baseURL: p.BaseURL, wire: wireFor(p.BaseURL, cmp.Or(wire, p.Wire)), keyName: fmt.Sprintf("api_key of provider %q", p.ID)}
	key, _, err := s.modelKey(p.APIKey)
	if at.key = key; p.APIKey != "" || err != nil {
		return at, err
	}
	for host, v := range map[string]variables{openAIHost: openAIVariables, anthropicHost: anthropicVariables} {
		if hostOf(p.BaseURL) == host { // a key goes to nobody else
			at.key, at.keyName = fromEnvironment(v.key), v.key
		}
	}
	return at, nil
}

// server is [llm]'s, or the environment's if the settings name no address; ok is false
// if neither names an address or a key.
func (s *settings) server(baseURL, wire string) (at server, ok bool, err error) {
	key, _, err := s.modelKey(s.LLM.APIKey)
	v, usual := openAIVariables, openAIURL
	if s.anthropic(baseURL, wire, key) {
		v, usual = anthropicVariables, anthropicURL
	}
	if baseURL == "" && key == "" && !v.selects() {
		return server{}, false, err
	}
	at = server{key: key, keyName: "api_key under [llm]", model: fromEnvironment(v.model)}
	if key == "" {
		at.key, at.keyName = fromEnvironment(v.key), v.key
	}
	at.baseURL = cmp.Or(baseURL, fromEnvironment(v.url), usual)
	at.wire = wireFor(at.baseURL, wire)
	if v == anthropicVariables {
		at.wire = cmp.Or(at.wire, llm.WireMessages)
	}
	return at, true, err
}

// anthropic tells whether Anthropic's variables complete these settings, and not OpenAI's.
func (s *settings) anthropic(baseURL, wire, key string) bool {
	switch {
	case wire == llm.WireMessages:
		return true
	case baseURL != "":
		return hostOf(baseURL) == anthropicHost
	case wire == llm.WireChat, wire == llm.WireResponses:
		return false
	case key != "":
		return strings.HasPrefix(key, "sk-ant-") || !openAIVariables.selects() && anthropicVariables.selects()
	}
	return !openAIVariables.selects() && anthropicVariables.selects()
}

// ambiguous tells whether the environment names both providers and nothing says which
// of the two an agent means.
func (s *settings) ambiguous() bool {
	if !openAIVariables.selects() || !anthropicVariables.selects() {
		return false
	}
	for _, agent := range s.agents() {
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

// shownAddress is an address without what may be secret in it.
func shownAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// providerID is how the id of a provider looks.
var providerID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// checkModels notes what is wrong with [llm] and [[providers]].
func (d *decoder) checkModels(s *settings) {
	d.checkURL("llm.base_url", s.LLM.BaseURL, "http://localhost:11434/v1")
	d.checkKey(s, "llm.api_key", s.LLM.APIKey, openAIVariables.key)
	d.checkWire("llm.wire", s.LLM.Wire)
	ids := map[string]bool{}
	for i, p := range s.Providers {
		path := fmt.Sprintf("providers.%d", i)
		switch {
		case p.ID == "":
			d.fault(path+".id", `id: is missing; models are named with it, as in model = "id/model"`)
		case !providerID.MatchString(p.ID):
			d.fault(path+".id", fmt.Sprintf(`id = %q: must be of letters, digits, "-", "_" and "."`, p.ID))
		case ids[p.ID]:
			d.fault(path+".id", fmt.Sprintf("id = %q: another provider has this id", p.ID))
		}
		ids[p.ID] = true
		if p.BaseURL == "" {
			d.fault(path+".base_url", fmt.Sprintf("base_url: is missing; as %q, %q or %q", openAIURL, anthropicURL, "http://localhost:11434/v1"))
		}
		d.checkURL(path+".base_url", p.BaseURL, "http://localhost:11434/v1")
		d.checkKey(s, path+".api_key", p.APIKey, "")
		d.checkWire(path+".wire", p.Wire)
	}
	d.checkModel("llm.model", s, s.LLM.Model, s.LLM.BaseURL)
}

// checkModel notes a model whose provider there is not. baseURL is the address it would
// be asked at if it is only a name.
func (d *decoder) checkModel(path string, s *settings, model, baseURL string) {
	id, _, cut := strings.Cut(model, "/")
	if !cut || len(s.Providers) == 0 {
		return
	}
	if _, name, found := s.providerOf(model); found {
		if name == "" {
			d.fault(path, fmt.Sprintf("%s = %q: names no model behind the provider; leave the setting out, or write %q", base(path), model, id+"/MODEL"))
		}
		return
	}
	var ids []string
	for _, p := range s.Providers {
		ids = append(ids, p.ID)
	}
	text := fmt.Sprintf("%s = %q: there is no provider %q%s; there are %s", base(path), model, id, meant(id, ids), strings.Join(ids, ", "))
	_, elsewhere, _ := s.server(baseURL, s.LLM.Wire) // a key that cannot be read is a fault of its own
	switch {
	case !elsewhere:
		d.fault(path, text+fmt.Sprintf(`; for a model of this name write %q, or set base_url under [llm]`, ids[0]+"/"+model))
	case meant(id, ids) != "":
		d.warn(path, text+"; it is used as a model's name")
	}
}

func (d *decoder) checkWire(path, wire string) {
	if wire != "" && !slices.Contains(wires, wire) {
		d.fault(path, fmt.Sprintf(`%s = %q: must be one of "%s"%s`, base(path), wire, strings.Join(wires, `", "`), meant(wire, wires)))
	}
}

// checkKey notes a key that cannot be had, and warns of one that is in the file itself.
func (d *decoder) checkKey(s *settings, path, setting, variable string) {
	_, plain, err := s.modelKey(setting)
	switch {
	case err != nil:
		d.fault(path, fmt.Sprintf("%s: %v", base(path), err))
	case plain:
		text := `the key is in the file in plain text; put it into a file of its own and write "file:PATH", or into the environment and write "env:NAME"`
		if variable != "" {
			text += ", or leave it out and set " + variable
		}
		d.warn(path, base(path)+": "+text)
	}
}
