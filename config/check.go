// Validation: which values are allowed.

package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/compactor"
)

// checker checks the values of the settings, whichever file or default they come from.
type checker struct {
	s      *Settings
	report *report
}

// check reports all values that are not allowed.
func (c *checker) check() {
	_, err := time.LoadLocation(c.s.TimeZone)
	c.report.must(err == nil && c.s.TimeZone != "", "time_zone", c.s.TimeZone, `be a place such as "Europe/Berlin", "UTC", or "Local" for the machine's own zone`)
	c.checkPrices()
	c.report.must(c.s.DataDir != "", "data_dir", c.s.DataDir, "name a folder")
	c.checkNames("restricted", "command", c.s.Restricted, commandNames(func(command.Command) bool { return true }))
	if err := CheckHealth(c.s.Health); err != nil {
		c.report.problem("health", err.Error())
	}
	c.checkStore()
	c.checkWeb()
	c.checkModels()
	c.checkSideServers()
	c.checkAgents()
	c.checkTools()
	c.checkHooks()
	c.checkConnectors()
	c.checkFiles()
	for i, b := range c.s.Bindings {
		c.checkBinding(fmt.Sprintf("bindings.%d", i), b)
	}
}

func (c *checker) checkAgents() {
	inherited := c.checkPolicy("defaults.compaction", c.s.Defaults.Compaction, nil)
	ids := map[string]bool{}
	for i, agent := range c.s.Agents {
		path := agentPath(i)
		c.checkNewID(path, agent.ID, ids, !strings.ContainsFunc(agent.ID, unaddressable) && !strings.HasSuffix(agent.ID, "."),
			`letters, digits, "-", "_" and ".", because people write @id to ask an agent, e.g. "cairn"`)
		if strings.ToLower(agent.ID) != agent.ID {
			c.report.warn(path+".id", fmt.Sprintf("id = %q: people must write the capitals too, as @%[1]s; use lower case", agent.ID))
		}
		c.checkAgentModel(path, agent)
		c.checkWindow(path+".context_window", agent)
		c.checkPolicy(path+".compaction", agent.Compaction, inherited)
		c.checkLimit(path, agent)
	}
	known := slices.Sorted(maps.Keys(ids))
	for i, agent := range c.s.Agents {
		c.checkNames(agentPath(i)+".spawn", "agent", agent.Spawn, known)
	}
}

// unaddressable reports whether "@id question" would not be read as a call with this character in the id.
func unaddressable(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune("-_.", r)
}

// frameOf returns the tokens of system prompt, instructions and built-in tools.
func (c *checker) frameOf(a Agent) int {
	return channel.Agent{Instructions: a.Instructions, Language: cmp.Or(a.Language, c.s.Language), Spawn: a.Spawn}.Frame()
}

// checkLimit reports a compact_at_tokens below which no conversation can stay. The window may not be known yet.
func (c *checker) checkLimit(path string, a Agent) {
	key := path + ".compaction.compact_at_tokens"
	if !c.s.isSet(key) {
		key = "defaults.compaction.compact_at_tokens"
	}
	fault, doubt := a.Compaction.ValidateLimit(c.frameOf(a), a.MaxOutputTokens, cmp.Or(a.ContextWindow, math.MaxInt))
	switch {
	case a.Compaction.CompactAtTokens < compactor.LeastLimit: // reported already
	case fault != nil:
		c.report.problem(key, fault.Error())
	case doubt != "":
		c.report.warn(key, doubt)
	}
}

// checkWindow reports a window that has no room for a message.
func (c *checker) checkWindow(path string, a Agent) {
	frame := c.frameOf(a)
	c.report.must(a.ContextWindow < 1000 || a.ContextWindow > frame, path, a.ContextWindow,
		fmt.Sprintf("be larger than the %d tokens of system prompt, instructions and tools", frame))
}

// maxOfModels are the most models of a list. A turn tries each of its fallback, and may start five times; Discord shows 25 choices.
var maxOfModels = map[string]int{"fallback": 3, "models": 20}

// checkModelLists reports models of the lists at [llm] or at an agent, path, that are not named, or whose provider is not defined.
// named: the agent's model is one of a provider, whose other models need no prefix. Inherited lists are not reported again.
func (c *checker) checkModelLists(path string, lists map[string][]string, baseURL string, named bool) {
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		at := path + "." + key
		if path == "llm" || c.s.isSet(at) || !c.s.isSet("llm."+key) {
			c.checkModelList(at, lists[key], maxOfModels[key], baseURL, named)
		}
	}
}

func (c *checker) checkModelList(path string, models []string, most int, baseURL string, named bool) {
	c.report.must(len(models) <= most, path, len(models), fmt.Sprintf("name at most %d models", most))
	for _, model := range models {
		c.report.must(model != "", path, model, `name models, e.g. ["small", "openrouter/large"]`)
		if !named {
			c.checkModel(path, model, baseURL)
		}
	}
}

// warnOfEmpty warns of an agent's empty list that hides one of [llm], as copies of an earlier config.toml have.
func (c *checker) warnOfEmpty(path string, own, hidden []string) {
	if c.s.isSet(path) && len(own) == 0 && len(hidden) > 0 {
		c.report.warn(path, fmt.Sprintf("%s = []: it hides that of [llm]; remove this line to use that", base(path)))
	}
}

// checkAgentModel checks the models of an agent.
func (c *checker) checkAgentModel(path string, agent Agent) {
	if err := compactor.CheckReasoning("reasoning", agent.Reasoning); err != nil {
		c.report.problem(path+".reasoning", err.Error())
	}
	model := cmp.Or(agent.Model, c.s.LLM.Model)
	p, _, named := c.s.providerOf(model)
	if named && agent.BaseURL != "" {
		c.report.problem(path+".base_url", fmt.Sprintf("base_url: model = %q belongs to provider %q, which has its own address", model, p.ID))
	}
	if agent.Model != "" {
		c.checkModel(path+".model", agent.Model, cmp.Or(agent.BaseURL, c.s.LLM.BaseURL))
	}
	c.checkModelLists(path, map[string][]string{"fallback": agent.Fallback, "models": agent.Models}, cmp.Or(agent.BaseURL, c.s.LLM.BaseURL), named)
	if len(c.s.Agents) == 1 { // of several, one may want none
		c.warnOfEmpty(path+".fallback", agent.Fallback, c.s.LLM.Fallback)
		c.warnOfEmpty(path+".models", agent.Models, c.s.LLM.Models)
	}
	if !named { // otherwise a name without a known prefix is a model of the agent's provider
		worker := path + ".compaction.model"
		if !c.s.isSet(worker) {
			worker = "defaults.compaction.model"
		}
		c.checkModel(worker, agent.Compaction.Model, cmp.Or(agent.BaseURL, c.s.LLM.BaseURL))
	}
}

// checkPolicy reports mistakes in a policy, except inherited ones, and returns their texts.
func (c *checker) checkPolicy(path string, p compactor.Policy, inherited map[string]bool) map[string]bool {
	wrong := map[string]bool{}
	note := func(key, text string) {
		wrong[text] = true
		if !inherited[text] {
			c.report.problem(path+"."+key, text)
		}
	}
	for _, e := range p.Validate() {
		note(e.Key, e.Error())
	}
	if c.s.isSet(path+".prepare_threshold") && p.PrepareThreshold == -1 { // the internal value for "not set"
		note("prepare_threshold", compactor.PrepareUnset().Error())
	}
	if p.PromptFile != "" {
		if _, err := ReadPrompt(c.s.Path(p.PromptFile)); err != nil {
			note("prompt_file", fmt.Sprintf("prompt_file = %q: must be a file that can be read (%v)", p.PromptFile, err))
		}
	}
	return wrong
}

// checkSecret reports a secret that cannot be read.
func (c *checker) checkSecret(path, setting, variable string) {
	if _, err := c.s.secret(setting, variable); err != nil {
		c.report.problem(path, fmt.Sprintf("%s: %v", base(path), err))
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

func (c *checker) checkModels() {
	c.checkKey("llm.api_key", c.s.LLM.APIKey, OpenAI.Key)
	ids := map[string]bool{}
	for i, p := range c.s.Providers {
		path := fmt.Sprintf("providers.%d", i)
		c.checkNewID(path, p.ID, ids, providerID.MatchString(p.ID), `letters, digits, "-", "_" and "."; models are named with it, as in model = "id/model"`)
		if p.BaseURL == "" {
			c.report.problem(path+".base_url", fmt.Sprintf("base_url: is missing; as %q, %q or %q", OpenAIURL, AnthropicURL, "http://localhost:11434/v1"))
		}
		c.checkKey(path+".api_key", p.APIKey, "")
	}
	c.checkModel("llm.model", c.s.LLM.Model, c.s.LLM.BaseURL)
	_, _, named := c.s.providerOf(c.s.LLM.Model)
	c.checkModelLists("llm", map[string][]string{"fallback": c.s.LLM.Fallback, "models": c.s.LLM.Models}, c.s.LLM.BaseURL, named)
}

// checkModel reports a model whose provider is not defined. baseURL is the server it is requested
// from if "provider/model" is only a name.
func (c *checker) checkModel(path string, model, baseURL string) {
	id, _, cut := strings.Cut(model, "/")
	if !cut || len(c.s.Providers) == 0 {
		return
	}
	if _, name, found := c.s.providerOf(model); found {
		if name == "" {
			c.report.problem(path, fmt.Sprintf("%s = %q: names a provider without a model; remove the setting, or write %q", base(path), model, id+"/MODEL"))
		}
		return
	}
	var ids []string
	for _, p := range c.s.Providers {
		ids = append(ids, p.ID)
	}
	text := fmt.Sprintf("%s = %q: there is no provider %q%s; there are %s", base(path), model, id, compactor.DidYouMean(id, ids), strings.Join(ids, ", "))
	_, elsewhere, _ := c.s.server(baseURL, c.s.LLM.Wire) // an unreadable key is reported elsewhere
	if !elsewhere {
		c.report.problem(path, text+fmt.Sprintf(`; for a model with this name, write %q, or set base_url under [llm]`, ids[0]+"/"+model))
	}
}

// checkKey reports a key that cannot be read, and warns about a key in plain text.
func (c *checker) checkKey(path, setting, variable string) {
	_, plain, err := c.s.Resolve(setting)
	switch {
	case err != nil:
		c.report.problem(path, fmt.Sprintf("%s: %v", base(path), err))
	case plain:
		text := `the key is in this file in plain text; move it to a file and write "file:PATH", or to a variable and write "env:NAME"`
		if variable != "" {
			text += ", or leave it out and set " + variable
		}
		c.report.warn(path, base(path)+": "+text)
	}
}

// checkPrices reports prices that are not complete.
func (c *checker) checkPrices() {
	for model := range c.s.Prices {
		for _, key := range []string{"input", "output"} {
			if path := "prices." + model + "." + key; !c.s.isSet(path) {
				c.report.problem(path, key+": is missing; a price has input and output, and may have cached and write, per million tokens")
			}
		}
		for _, key := range []string{"long_input", "long_cached", "long_write", "long_output"} {
			if path := "prices." + model + "."; c.s.isSet(path+key) && c.s.Prices[model].LongAbove == 0 {
				c.report.problem(path+key, key+": has no effect without long_above, the length of a prompt from which it counts")
			}
		}
	}
}
