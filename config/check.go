// Validation: which values are allowed.

package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/compactor"
)

func (d *decoder) check() {
	_, err := time.LoadLocation(d.s.TimeZone)
	d.must(err == nil && d.s.TimeZone != "", "time_zone", d.s.TimeZone, `be a place such as "Europe/Berlin", "UTC", or "Local" for the machine's own zone`)
	d.checkPrices()
	d.must(d.s.DataDir != "", "data_dir", d.s.DataDir, "name a folder")
	d.checkNames("restricted", "command", d.s.Restricted, commandNames(func(command.Command) bool { return true }))
	if err := CheckHealth(d.s.Health); err != nil {
		d.problem("health", err.Error())
	}
	d.checkWeb()
	d.checkModels()
	d.checkAgents()
	d.checkTools()
	d.checkHooks()
	d.checkConnectors()
	d.checkFiles()
	for i, b := range d.s.Bindings {
		d.checkBinding(fmt.Sprintf("bindings.%d", i), b)
	}
}

func (d *decoder) checkAgents() {
	inherited := d.checkPolicy("defaults.compaction", d.s.Defaults.Compaction, nil)
	ids := map[string]bool{}
	for i, agent := range d.s.Agents {
		path := agentPath(i)
		d.checkNewID(path, agent.ID, ids, !strings.ContainsFunc(agent.ID, unaddressable) && !strings.HasSuffix(agent.ID, "."),
			`letters, digits, "-", "_" and ".", because people write @id to ask an agent, e.g. "cairn"`)
		if strings.ToLower(agent.ID) != agent.ID {
			d.warn(path+".id", fmt.Sprintf("id = %q: people must write the capitals too, as @%[1]s; use lower case", agent.ID))
		}
		d.checkAgentModel(path, agent)
		d.checkWindow(path+".context_window", agent)
		d.checkPolicy(path+".compaction", agent.Compaction, inherited)
		d.checkLimit(path, agent)
	}
	known := slices.Sorted(maps.Keys(ids))
	for i, agent := range d.s.Agents {
		d.checkNames(agentPath(i)+".spawn", "agent", agent.Spawn, known)
	}
}

// checkNewID reports the id of a table that is missing, not good, which says how it must be, or taken.
func (d *decoder) checkNewID(path, id string, taken map[string]bool, good bool, form string) {
	switch {
	case id == "":
		d.problem(path+".id", "id: is missing; it must be of "+form)
	case taken[id]:
		d.problem(path+".id", fmt.Sprintf("id = %q: another one has this id", id))
	default:
		d.must(good, path+".id", id, "be of "+form)
	}
	taken[id] = true
}

// unaddressable reports whether "@id question" would not be read as a call with this character in the id.
func unaddressable(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune("-_.", r)
}

// frameOf returns the tokens of system prompt, instructions and own tools.
func (d *decoder) frameOf(a Agent) int {
	return channel.Agent{Instructions: a.Instructions, Language: cmp.Or(a.Language, d.s.Language), Spawn: a.Spawn}.Frame()
}

// checkLimit reports a compact_at_tokens below which no conversation can stay. The window may not be known yet.
func (d *decoder) checkLimit(path string, a Agent) {
	key := path + ".compaction.compact_at_tokens"
	if !d.isSet(key) {
		key = "defaults.compaction.compact_at_tokens"
	}
	fault, doubt := a.Compaction.ValidateLimit(d.frameOf(a), a.MaxOutputTokens, cmp.Or(a.ContextWindow, math.MaxInt))
	switch {
	case a.Compaction.CompactAtTokens < compactor.LeastLimit: // reported already
	case fault != nil:
		d.problem(key, fault.Error())
	case doubt != "":
		d.warn(key, doubt)
	}
}

// checkWindow reports a window that has no room for a message.
func (d *decoder) checkWindow(path string, a Agent) {
	frame := d.frameOf(a)
	d.must(a.ContextWindow < 1000 || a.ContextWindow > frame, path, a.ContextWindow,
		fmt.Sprintf("be larger than the %d tokens of system prompt, instructions and tools", frame))
}

func (d *decoder) checkAgentModel(path string, agent Agent) {
	if err := compactor.CheckReasoning("reasoning", agent.Reasoning); err != nil {
		d.problem(path+".reasoning", err.Error())
	}
	model := cmp.Or(agent.Model, d.s.LLM.Model)
	p, _, named := d.s.providerOf(model)
	if named && agent.BaseURL != "" {
		d.problem(path+".base_url", fmt.Sprintf("base_url: model = %q belongs to provider %q, which has its own address", model, p.ID))
	}
	if agent.Model != "" {
		d.checkModel(path+".model", agent.Model, cmp.Or(agent.BaseURL, d.s.LLM.BaseURL))
	}
	if !named { // otherwise a name without a known prefix is a model of the agent's provider
		worker := path + ".compaction.model"
		if !d.isSet(worker) {
			worker = "defaults.compaction.model"
		}
		d.checkModel(worker, agent.Compaction.Model, cmp.Or(agent.BaseURL, d.s.LLM.BaseURL))
	}
}

// checkPolicy reports mistakes in a policy, except inherited ones, and returns their texts.
func (d *decoder) checkPolicy(path string, p compactor.Policy, inherited map[string]bool) map[string]bool {
	wrong := map[string]bool{}
	note := func(key, text string) {
		wrong[text] = true
		if !inherited[text] {
			d.problem(path+"."+key, text)
		}
	}
	for _, e := range p.Validate() {
		note(e.Key, e.Error())
	}
	if d.isSet(path+".prepare_threshold") && p.PrepareThreshold == -1 { // the internal value for "not set"
		note("prepare_threshold", compactor.PrepareUnset().Error())
	}
	if p.PromptFile != "" {
		if _, err := ReadPrompt(d.s.Path(p.PromptFile)); err != nil {
			note("prompt_file", fmt.Sprintf("prompt_file = %q: must be a file that can be read (%v)", p.PromptFile, err))
		}
	}
	return wrong
}

// checkURL reports an address that is not one of HTTP.
func (d *decoder) checkURL(path, value, example string) {
	u, err := url.Parse(value)
	ok := value == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	d.must(ok, path, ShownAddress(value), fmt.Sprintf("look like %q", example))
}

// checkServer reports an address that is none of HTTP, or to which no path can be appended.
func (d *decoder) checkServer(path, value, example string) {
	d.checkURL(path, value, example)
	d.must(!strings.ContainsAny(value, "?#"), path, ShownAddress(value), `not have "?" or "#", because paths are appended`)
}

// checkSecret reports a secret that cannot be read.
func (d *decoder) checkSecret(path, setting, variable string) {
	if _, err := d.s.secret(setting, variable); err != nil {
		d.problem(path, fmt.Sprintf("%s: %v", base(path), err))
	}
}

// checkNames reports names of something, say of a command, that are not in known.
func (d *decoder) checkNames(path, something string, names, known []string) {
	for _, name := range names {
		if !slices.Contains(known, name) {
			d.problem(path, fmt.Sprintf("%s: there is no %s %q%s; there are %s", base(path), something, name, compactor.DidYouMean(name, known), cmp.Or(strings.Join(known, ", "), "none")))
		}
	}
}

// commandNames lists the commands for which matches returns true, sorted.
func commandNames(matches func(command.Command) bool) (names []string) {
	for _, c := range command.All {
		if matches(c) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// CheckHealth returns an error for an invalid address. The host is required: without one, the
// server would be open to everyone who can reach the machine.
func CheckHealth(address string) error {
	_, err := checkAddress("health", address)
	return err
}

// checkAddress validates an address to listen on and returns its host.
func checkAddress(key, address string) (host string, err error) {
	if address == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf(`%s = %q: must look like "127.0.0.1:8090"`, key, address)
	case host == "":
		return "", fmt.Errorf(`%s = %q: write "127.0.0.1:%s"; or "0.0.0.0:%s", if everyone who can reach this machine may`, key, address, port, port)
	}
	return host, nil
}

// providerID is the form of a provider's id.
var providerID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (d *decoder) checkModels() {
	d.checkKey("llm.api_key", d.s.LLM.APIKey, OpenAI.Key)
	ids := map[string]bool{}
	for i, p := range d.s.Providers {
		path := fmt.Sprintf("providers.%d", i)
		d.checkNewID(path, p.ID, ids, providerID.MatchString(p.ID), `letters, digits, "-", "_" and "."; models are named with it, as in model = "id/model"`)
		if p.BaseURL == "" {
			d.problem(path+".base_url", fmt.Sprintf("base_url: is missing; as %q, %q or %q", OpenAIURL, AnthropicURL, "http://localhost:11434/v1"))
		}
		d.checkKey(path+".api_key", p.APIKey, "")
	}
	d.checkModel("llm.model", d.s.LLM.Model, d.s.LLM.BaseURL)
}

// checkModel reports a model whose provider is not defined. baseURL is the server it is requested
// from if "provider/model" is only a name.
func (d *decoder) checkModel(path string, model, baseURL string) {
	id, _, cut := strings.Cut(model, "/")
	if !cut || len(d.s.Providers) == 0 {
		return
	}
	if _, name, found := d.s.providerOf(model); found {
		if name == "" {
			d.problem(path, fmt.Sprintf("%s = %q: names a provider without a model; remove the setting, or write %q", base(path), model, id+"/MODEL"))
		}
		return
	}
	var ids []string
	for _, p := range d.s.Providers {
		ids = append(ids, p.ID)
	}
	text := fmt.Sprintf("%s = %q: there is no provider %q%s; there are %s", base(path), model, id, compactor.DidYouMean(id, ids), strings.Join(ids, ", "))
	_, elsewhere, _ := d.s.server(baseURL, d.s.LLM.Wire) // an unreadable key is reported elsewhere
	if !elsewhere {
		d.problem(path, text+fmt.Sprintf(`; for a model with this name, write %q, or set base_url under [llm]`, ids[0]+"/"+model))
	}
}

// checkKey reports a key that cannot be read, and warns about a key in plain text.
func (d *decoder) checkKey(path, setting, variable string) {
	_, plain, err := d.s.Resolve(setting)
	switch {
	case err != nil:
		d.problem(path, fmt.Sprintf("%s: %v", base(path), err))
	case plain:
		text := `the key is in this file in plain text; move it to a file and write "file:PATH", or to a variable and write "env:NAME"`
		if variable != "" {
			text += ", or leave it out and set " + variable
		}
		d.warn(path, base(path)+": "+text)
	}
}

// checkPrices reports prices that are not complete.
func (d *decoder) checkPrices() {
	for model := range d.s.Prices {
		for _, key := range []string{"input", "output"} {
			if path := "prices." + model + "." + key; !d.isSet(path) {
				d.problem(path, key+": is missing; a price has input and output, and may have cached and write, per million tokens")
			}
		}
		for _, key := range []string{"long_input", "long_cached", "long_write", "long_output"} {
			if path := "prices." + model + "."; d.isSet(path+key) && d.s.Prices[model].LongAbove == 0 {
				d.problem(path+key, key+": has no effect without long_above, the length of a prompt from which it counts")
			}
		}
	}
}
