// Package anthropic implements llm.Model for servers with Anthropic's Messages interface.
package anthropic

import (
	"time"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

const anthropicHost = "api.anthropic.com"

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
		Preferred: preferred,
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

// Begin implements provider.Protocol.
func (m *Model) Begin(model string, req llm.Request) provider.Attempt {
	return &attempt{Model: m, model: model, req: req}
}
