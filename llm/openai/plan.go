// What is sent depends on the server: on its address, and on what it has refused before.

package openai

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cairn/llm"
	"cairn/llm/provider"
)

// plan describes how a request is sent.
type plan struct {
	provider.Plan
	wire        string
	openAI      bool // it goes to OpenAI itself
	limit       int  // of the answer in tokens, its reasoning included; 0: none
	breakpoints bool // of the prompt cache
	cacheFields
	cacheControl map[string]string // the cache of a Claude model behind OpenRouter
}

// cacheFields are the fields of OpenAI's prompt cache. Other servers use the key, too, ignore it, or refuse it once.
type cacheFields struct {
	Key       string `json:"prompt_cache_key,omitempty"`
	Retention string `json:"prompt_cache_retention,omitempty"`
}

func (o *Model) plan(of provider.Plan) plan {
	p := plan{Plan: of, wire: o.Wire(), openAI: o.Host == openAIHost, limit: of.MaxTokens}
	p.Base = cmp.Or(p.Base, o.Options.BaseURL)
	// A model that has shown no reasoning gets no room for it, except on Responses, where nearly all reason.
	if p.MaxTokens > 0 && (p.Thinks || p.wire == llm.WireResponses || p.Effort != "") {
		p.limit += p.ReasoningRoom(p.Effort)
	}
	if p.Longest > 0 {
		p.limit = min(p.limit, p.Longest)
	}
	if !p.Refused["prompt_cache_key"] {
		p.Key = p.CacheKey
	}
	rule, ttl := o.caching()
	p.breakpoints = rule == llm.CacheBreakpoints
	if ttl == retained {
		p.Retention = "24h"
	}
	if o.Host == "openrouter.ai" && strings.HasPrefix(p.Model, "anthropic/") && !p.Refused["cache_control"] {
		p.cacheControl = map[string]string{"type": "ephemeral"}
		if o.Options.CacheTTL > shortTTL {
			p.cacheControl["ttl"] = "1h"
		}
	}
	return p
}

// gptVersion matches the version of OpenAI's models: gpt-5.6-terra, gpt-6-astra.
var gptVersion = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?(?:-|$)`)

// How long OpenAI's cache stays warm if a request asks for that, and that of other providers.
const (
	retained = 24 * time.Hour
	shortTTL = 5 * time.Minute
)

// caching returns how the provider caches prompts, by its host and model, as of November 2026. OpenAI: from GPT-5.6 on at
// breakpoints, for 30 minutes; before, by longest prefix, from GPT-4.1 on for up to 24 hours if the request says so. Small
// models are not listed among the latter.
func (o *Model) caching() (rule string, ttl time.Duration) {
	model := o.Model()
	refused := o.Demands().Refused
	version := 0
	if found := gptVersion.FindStringSubmatch(model); found != nil && o.Host == openAIHost {
		major, _ := strconv.Atoi(found[1]) // digits, by the pattern
		minor, _ := strconv.Atoi(found[2]) // digits or none
		version = 100*major + minor
	}
	small := strings.Contains(model, "-mini") || strings.Contains(model, "-nano")
	switch {
	case version >= 506 && !refused["prompt_cache_breakpoint"]:
		return llm.CacheBreakpoints, 30 * time.Minute
	case version >= 401 && version < 506 && !small && !refused["prompt_cache_retention"]:
		return llm.CachePrefix, retained
	case strings.HasSuffix(o.Host, "deepseek.com"):
		return llm.CacheUnits, shortTTL
	}
	return llm.CachePrefix, shortTTL
}

// CacheTTL returns how long the provider's prompt cache stays warm: the setting, else the provider's default.
func (o *Model) CacheTTL() time.Duration {
	_, ttl := o.caching()
	return cmp.Or(max(o.Options.CacheTTL, 0), ttl)
}

// CacheRule returns how the provider caches prompts.
func (o *Model) CacheRule() string {
	rule, _ := o.caching()
	return rule
}
