// Package anthropic implements llm.Model for servers with Anthropic's Messages interface.
package anthropic

import (
	"context"
	"regexp"
	"strings"
	"time"

	"cairn/llm"
	"cairn/llm/provider"
)

const anthropicHost = "api.anthropic.com"

// preferred are Anthropic's small chat models if none is set, best choice first, as of November 2026.
var preferred = []string{
	"claude-haiku-5-5", "claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-sonnet-5-5", "claude-sonnet-5", "claude-sonnet-4-6",
}

// efforts are the values of output_config.effort, in ascending order.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// claudeWindow is the minimum window of every Claude model since 2023, in tokens.
const claudeWindow = 200_000

// Anthropic's cache keeps a prefix for one of these two times after its last use.
const (
	shortTTL = 5 * time.Minute
	longTTL  = time.Hour
)

// Options configures the server, its timeouts and retries; it is the same type for all providers.
type Options = provider.Options

// Model is an llm.Model behind a server with Anthropic's Messages interface.
type Model struct{ *provider.Client }

// New returns a model that has sent nothing yet. It fails if BaseURL is not a web address.
func New(options Options) (*Model, error) {
	client, err := provider.New(options, provider.Defaults{
		BaseURL: "https://" + anthropicHost, Cut: "/v1", Example: "https://" + anthropicHost,
		Preferred: preferred, Efforts: efforts, Optional: optional,
	})
	if err != nil {
		return nil, err
	}
	client.Header.Set("Anthropic-Version", "2023-06-01")
	if key := client.Options.APIKey; key != "" {
		client.Header.Set("X-Api-Key", key)
		if client.Host != anthropicHost { // other servers with this interface expect the key in OpenAI's header
			client.Header.Set("Authorization", "Bearer "+key)
		}
	}
	m := &Model{client}
	client.Protocol = m
	return m, nil
}

// Wire returns llm.WireMessages.
func (m *Model) Wire() string { return llm.WireMessages }

// CacheTTL returns how long the server keeps a cached prompt after its last use.
func (m *Model) CacheTTL() time.Duration {
	if m.Options.CacheTTL > shortTTL {
		return longTTL
	}
	return shortTTL
}

// CacheRule returns llm.CacheBreakpoints.
func (m *Model) CacheRule() string { return llm.CacheBreakpoints }

// Models lists what the server offers.
func (m *Model) Models(ctx context.Context) ([]llm.Offered, error) {
	offered, err := m.List(ctx, m.Options.BaseURL+"/v1/models?limit=1000")
	for i, o := range offered {
		if strings.HasPrefix(o.ID, "claude-") {
			offered[i].Tools = "yes"
		}
	}
	return offered, err
}

// AskWindow returns what is known about the model's window; Tokens 0: nothing.
func (m *Model) AskWindow(ctx context.Context) llm.Window {
	models, _ := m.Models(ctx) // without a list there is still the table
	window := m.ListedWindow(models, "GET /v1/models")
	if window.Tokens == 0 && strings.HasPrefix(m.Model(), "claude-") {
		return llm.Window{Tokens: claudeWindow, Source: "table of models"}
	}
	return window
}

var (
	aboutThoughts = regexp.MustCompile("(?i)signature|thinking. (?:or .redacted_thinking. )?blocks? .{0,80}cannot be modified|expected .thinking. or .redacted_thinking.")
	aboutThinking = regexp.MustCompile(`(?i)adaptive|budget_tokens|disabled|thinking\.type|\bthinking. (?:is|may|can|must|does|do)|\bthinking: `)
)

const fieldThinking = "thinking.type " // and the kind

// optional are the optional fields: the kinds of thinking, and the cache marks.
var optional = []provider.Field{
	{Name: fieldThinking + adaptive, About: aboutThinking, In: `"thinking":{"type":"` + adaptive},
	{Name: fieldThinking + disabled, About: aboutThinking, In: `"thinking":{"type":"` + disabled},
	{Name: "cache_control"},
}

// Adapt implements provider.Protocol. A request whose earlier thinking is refused does not think, and returns none.
func (m *Model) Adapt(_ context.Context, p *provider.Plan, refused *llm.Error, form provider.Form) bool {
	if refused.Kind == llm.KindBadRequest && p.Reasoning != "none" && aboutThoughts.MatchString(refused.Message) {
		p.Reasoning = "none"
		return true
	}
	return m.Client.Adapt(refused, form)
}
