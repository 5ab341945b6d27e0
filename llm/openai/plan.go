// What is sent depends on the server: on its address, and on what it has refused before.

package openai

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// demands are what a server has turned out to demand. They last until the process ends.
type demands struct {
	base     string          // address, with "/v1" appended if it was missing
	asked    bool            // "/v1" was tried
	refused  map[string]bool // fields that it refuses
	efforts  []string        // values of reasoning effort that it accepts; nil: not known
	maxField bool            // it wants max_completion_tokens
	longest  int             // tokens of the longest answer it allows; 0: not known
	thinks   bool            // it has answered with reasoning
}

// plan describes how one request is sent.
type plan struct {
	demands
	wire        string
	model       string
	host        string
	provider    string        // identifies the author of reasoning: host and model
	forced      bool          // a tool may be forced
	breakpoints bool          // of the prompt cache
	retention   bool          // of the prompt cache, for 24 hours
	claude      bool          // a Claude model behind OpenRouter: one mark enables its cache
	ttl         time.Duration // the setting; 0: none
	noRoom      bool          // the window has no room for reasoning beyond the answer
}

// room returns how many tokens of the answer are for reasoning: none for a model that has shown
// none, except on Responses, where nearly all models reason.
func (p plan) room(req llm.Request) int {
	if p.noRoom || req.MaxTokens <= 0 || !p.thinks && p.wire != llm.WireResponses && p.effort(req.Reasoning) == "" {
		return 0
	}
	return req.ReasoningRoom(p.effort(req.Reasoning))
}

// answerTokens returns the limit of the answer, its reasoning included; 0: none.
func (p plan) answerTokens(req llm.Request) int {
	tokens := req.MaxTokens + p.room(req)
	if p.longest > 0 {
		tokens = min(tokens, p.longest)
	}
	return tokens
}

func (o *Model) plan(model string) plan {
	o.mu.Lock()
	d := o.demands
	d.refused = maps.Clone(d.refused)
	o.mu.Unlock()
	p := plan{
		demands: d, wire: o.Wire(), model: model, host: o.Host, provider: o.Host + " " + model,
		forced: !o.Learnt().Facts().RefusesForced, ttl: o.Options.CacheTTL,
	}
	p.breakpoints, p.retention = o.caching(model, d)
	p.claude = (o.Host == "openrouter.ai") && strings.HasPrefix(model, "anthropic/") && !d.refused["cache_control"]
	return p
}

func (p plan) address() string {
	if p.wire == llm.WireResponses {
		return p.base + "/responses"
	}
	return p.base + "/chat/completions"
}

func (p plan) encode(req llm.Request) ([]byte, error) {
	if p.wire == llm.WireResponses {
		return p.encodeResponses(req)
	}
	return p.encodeChat(req)
}

func (p plan) answer(show func(string), bounds *llm.Bounds) provider.Answer {
	if p.wire == llm.WireResponses {
		return &responsesAnswer{Said: provider.Said{Show: show, Bounds: bounds}, provider: p.provider}
	}
	return &chatAnswer{Said: provider.Said{Show: show, Bounds: bounds}, provider: p.provider}
}

// effort returns the reasoning effort to send, "" for none: wanted, or the nearest that the model
// accepts.
func (p plan) effort(wanted string) string {
	if wanted == "" || p.efforts == nil || slices.Contains(p.efforts, wanted) {
		return wanted
	}
	at := slices.Index(llm.ReasoningEfforts, wanted)
	nearest, distance := "", len(llm.ReasoningEfforts)
	for i, effort := range llm.ReasoningEfforts {
		if d := max(i-at, at-i); d < distance && slices.Contains(p.efforts, effort) {
			nearest, distance = effort, d
		}
	}
	return nearest
}

// gptVersion matches the version of OpenAI's models: gpt-5.6-terra, gpt-6-astra.
var gptVersion = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?(?:-|$)`)

// caching returns how OpenAI caches a model's prompts, as of November 2026: from GPT-5.6
// on at breakpoints, for 30 minutes; before, by longest prefix, from GPT-4.1 on for up to
// 24 hours if the request says so. Small models are not listed among the latter.
func (o *Model) caching(model string, d demands) (breakpoints, retention bool) {
	found := gptVersion.FindStringSubmatch(model)
	if o.Host != openAIHost || found == nil {
		return false, false
	}
	major, _ := strconv.Atoi(found[1]) // digits, by the pattern
	minor, _ := strconv.Atoi(found[2]) // digits or none
	version := 100*major + minor
	small := strings.Contains(model, "-mini") || strings.Contains(model, "-nano")
	return version >= 506 && !d.refused["prompt_cache_breakpoint"],
		version >= 401 && version < 506 && !small && !d.refused["prompt_cache_retention"]
}

// CacheTTL returns how long the provider's prompt cache stays warm: the setting, else the
// provider's default.
func (o *Model) CacheTTL() time.Duration {
	p := o.plan(o.Discovery.Model())
	switch {
	case o.Options.CacheTTL > 0:
		return o.Options.CacheTTL
	case p.breakpoints:
		return 30 * time.Minute
	case p.retention:
		return 24 * time.Hour
	}
	return 5 * time.Minute
}

// CacheRule returns how the provider caches prompts, by its host and model.
func (o *Model) CacheRule() string {
	switch p := o.plan(o.Discovery.Model()); {
	case p.breakpoints:
		return llm.CacheBreakpoints
	case strings.HasSuffix(o.Host, "deepseek.com"):
		return llm.CacheUnits
	}
	return llm.CachePrefix
}
