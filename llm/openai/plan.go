// What is sent depends on the server: on its address, and on what it has refused before.

package openai

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// plan describes how one request is sent.
type plan struct {
	provider.Demands
	wire        string
	model       string
	host        string
	provider    string        // identifies the author of reasoning: host and model
	forced      bool          // a tool may be forced
	breakpoints bool          // of the prompt cache
	retention   bool          // of the prompt cache, for 24 hours
	claude      bool          // a Claude model behind OpenRouter: one mark enables its cache
	ttl         time.Duration // the setting; 0: none
}

// room returns how many tokens of the answer are for reasoning: none for a model that has shown
// none, except on Responses, where nearly all models reason.
func (p plan) room(req llm.Request) int {
	if req.MaxTokens <= 0 || !p.Thinks && p.wire != llm.WireResponses && p.effort(req.Reasoning) == "" {
		return 0
	}
	return req.ReasoningRoom(p.effort(req.Reasoning))
}

// answerTokens returns the limit of the answer, its reasoning included; 0: none.
func (p plan) answerTokens(req llm.Request) int {
	tokens := req.MaxTokens + p.room(req)
	if p.Longest > 0 {
		tokens = min(tokens, p.Longest)
	}
	return tokens
}

func (o *Model) plan(model string) plan {
	p := plan{
		Demands: o.Demands(), wire: o.Wire(), model: model, host: o.Host, provider: o.Host + " " + model,
		forced: !o.Learnt().Facts().RefusesForced, ttl: o.Options.CacheTTL,
	}
	p.Base = o.base()
	p.breakpoints, p.retention = o.caching(model, p.Refused)
	p.claude = o.Host == "openrouter.ai" && strings.HasPrefix(model, "anthropic/") && !p.Refused[fieldCacheControl]
	return p
}

// effort returns the reasoning effort to send, "" for none: wanted, or the nearest that the model
// accepts.
func (p plan) effort(wanted string) string { return provider.Nearest(wanted, p.Efforts) }

// gptVersion matches the version of OpenAI's models: gpt-5.6-terra, gpt-6-astra.
var gptVersion = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?(?:-|$)`)

// caching returns how OpenAI caches a model's prompts, as of November 2026: from GPT-5.6
// on at breakpoints, for 30 minutes; before, by longest prefix, from GPT-4.1 on for up to
// 24 hours if the request says so. Small models are not listed among the latter.
func (o *Model) caching(model string, refused map[string]bool) (breakpoints, retention bool) {
	found := gptVersion.FindStringSubmatch(model)
	if o.Host != openAIHost || found == nil {
		return false, false
	}
	major, _ := strconv.Atoi(found[1]) // digits, by the pattern
	minor, _ := strconv.Atoi(found[2]) // digits or none
	version := 100*major + minor
	small := strings.Contains(model, "-mini") || strings.Contains(model, "-nano")
	return version >= 506 && !refused[fieldBreakpoint],
		version >= 401 && version < 506 && !small && !refused[fieldRetention]
}

// CacheTTL returns how long the provider's prompt cache stays warm: the setting, else the
// provider's default.
func (o *Model) CacheTTL() time.Duration {
	p := o.plan(o.Model())
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
	switch p := o.plan(o.Model()); {
	case p.breakpoints:
		return llm.CacheBreakpoints
	case strings.HasSuffix(o.Host, "deepseek.com"):
		return llm.CacheUnits
	}
	return llm.CachePrefix
}
