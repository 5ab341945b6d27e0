// Package anthropic implements llm.Model for servers with Anthropic's Messages interface.
package anthropic

import (
	"context"
	"sync"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
type Model struct {
	*provider.Client

	client sdk.Client

	mu     sync.Mutex // guards limits
	limits limits
}

// New returns a model that has sent nothing yet. It fails if BaseURL is not a web address.
func New(options Options) (*Model, error) {
	client, err := provider.New(options, provider.Defaults{
		BaseURL: "https://" + anthropicHost, Cut: "/v1", Example: "https://" + anthropicHost,
		Wires: []string{llm.WireMessages}, Preferred: preferred,
	})
	if err != nil {
		return nil, err
	}
	return &Model{Client: client, client: sdk.NewClient(clientOptions(client.Options, client.Host)...)}, nil
}

// clientOptions configures the SDK: no environment variables, and no retries, which llm.Retry
// makes.
func clientOptions(o Options, host string) []option.RequestOption {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(o.BaseURL),
		option.WithMaxRetries(0),
	}
	if o.APIKey == "" {
		return options
	}
	options = append(options, option.WithAPIKey(o.APIKey))
	if host != anthropicHost { // other servers with this interface expect the key in OpenAI's header
		options = append(options, option.WithHeader("Authorization", "Bearer "+o.APIKey))
	}
	return options
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

// Generate answers req, see llm.Model and llm.Retry.
func (m *Model) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	return m.Retry(ctx, req, show, func(ctx context.Context, show func(string)) (llm.Response, error) {
		return m.try(ctx, req, show)
	})
}

// maxChanges limits how often one attempt is repeated without a refused field.
const maxChanges = 8

// try makes one attempt. If the server refuses a field of the request by name, it sends the request
// again without it.
func (m *Model) try(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	model, err := m.Discovery.ModelID(ctx, m.Models)
	if err != nil {
		return llm.Response{}, err
	}
	var only exceptions
	for changes := 0; ; changes++ {
		c := m.compose(model, req, only)
		resp, err := m.send(ctx, c, req.Extra, show)
		if err == nil || changes == maxChanges || !m.adapt(err, c, &only) || req.Charge() != nil {
			return resp, err
		}
	}
}
