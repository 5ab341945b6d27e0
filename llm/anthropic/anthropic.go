// Package anthropic talks to servers with Anthropic's Messages interface. It imports
// package llm, whose Model it implements.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"cairn/llm"
)

const anthropicHost = "api.anthropic.com"

// Anthropic's cache keeps a prefix for one of these two times after its last use.
const (
	shortTTL = 5 * time.Minute
	longTTL  = time.Hour
)

// Options says which server answers, and with how much patience.
type Options struct {
	BaseURL  string        // without /v1, which is cut off if it is there; empty: Anthropic's own
	APIKey   string        // empty: none is sent
	Model    string        // empty: chosen from GET /v1/models, see llm.Choose
	Window   int           // tokens; 0: discovered, see Window
	CacheTTL time.Duration // how long the prompt cache must stay warm; more than 5 minutes: 1 hour, whose writes cost more

	MaxRetries  int           // further attempts after a temporary failure; 0: 3; negative: none
	RetryDelay  time.Duration // before the first of them, then growing; 0: 500 ms
	IdleTimeout time.Duration // a server that is silent for so long has failed; 0: 2 minutes
	MaxTime     time.Duration // for one answer, further attempts and pings included; 0: 10 minutes
	MaxAnswer   int           // bytes of an answer with its thinking; a longer one is refused; 0: 4 MiB. See llm.Bounds too

	Notebook *llm.Notebook // keeps what is learnt about the model; nil: it is forgotten at the end

	HTTPClient *http.Client // nil: a client of its own, without an overall time limit; none follows redirects unless it says so
	Log        *slog.Logger // nil: silent
}

// Model is an llm.Model behind a server with Anthropic's Messages interface.
type Model struct {
	options   Options
	host      string // of BaseURL: the identity of the provider
	server    string // host and path of BaseURL, without user and password
	client    sdk.Client
	discovery *llm.Discovery
	learnt    llm.Learnt // where no notebook has a page

	mu     sync.Mutex // guards limits
	limits limits
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Learner = (*Model)(nil)
	_ llm.Lister  = (*Model)(nil)
	_ llm.Cacher  = (*Model)(nil)
	_ llm.Wired   = (*Model)(nil)
)

// New returns a model that has sent nothing yet. It fails when BaseURL is no web address.
func New(options Options) (*Model, error) {
	o := options
	if o.BaseURL == "" {
		o.BaseURL = "https://" + anthropicHost
	}
	o.BaseURL = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1"), "/")
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url %q: %w", options.BaseURL, err)
	}
	if base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("base_url %q: want an address like https://%s", options.BaseURL, anthropicHost)
	}
	if o.MaxRetries == 0 {
		o.MaxRetries = 3
	}
	if o.RetryDelay <= 0 {
		o.RetryDelay = 500 * time.Millisecond
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 2 * time.Minute
	}
	if o.MaxTime <= 0 {
		o.MaxTime = 10 * time.Minute
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = 4 << 20
	}
	o.HTTPClient = llm.HTTPClient(o.HTTPClient)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("provider", base.Host)
	return &Model{
		options: o, host: base.Host, server: base.Host + base.Path,
		client:    sdk.NewClient(clientOptions(o, base.Host)...),
		discovery: llm.NewDiscovery(o.Model, o.Window, preferred, o.Log),
	}, nil
}

// clientOptions configures the SDK: no environment variables, and no retries, which
// llm.Retry makes.
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
	if host != anthropicHost { // other servers with this interface want the key as OpenAI has it
		options = append(options, option.WithHeader("Authorization", "Bearer "+o.APIKey))
	}
	return options
}

// Name is the model's, or the server's host while no model is set or chosen.
func (m *Model) Name() string {
	if model := m.discovery.Model(); model != "" {
		return model
	}
	return m.host
}

// Wire is always llm.WireMessages.
func (m *Model) Wire() string { return llm.WireMessages }

// CacheTTL is how long the server keeps a cached prompt after its last use.
func (m *Model) CacheTTL() time.Duration {
	if m.options.CacheTTL > shortTTL {
		return longTTL
	}
	return shortTTL
}

// Learnt is what was learnt about this model on this server, see llm.Notebook. While no
// model is set or chosen it is not kept.
func (m *Model) Learnt() *llm.Learnt {
	model := m.discovery.Model()
	if m.options.Notebook == nil || model == "" {
		return &m.learnt
	}
	return m.options.Notebook.Page(model + "@" + m.server)
}

// Generate answers req, see llm.Model and llm.Retry.
func (m *Model) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	retry := llm.Retry{Max: m.options.MaxRetries, Delay: m.options.RetryDelay, MaxTime: m.options.MaxTime, Log: m.options.Log}
	resp, err := retry.Do(ctx, req, show, func(ctx context.Context, show func(string)) (llm.Response, error) {
		return m.try(ctx, req, show)
	})
	if err == nil {
		m.discovery.Answered()
		return resp, nil
	}
	var refused *llm.Error
	if errors.As(err, &refused) && refused.Kind == llm.KindOverflow {
		m.Learnt().Limit(refused.Limit)
	}
	return llm.Response{}, err
}

// maxChanges bounds how often one attempt is sent again without what was refused.
const maxChanges = 8

// try makes one attempt. When the server refuses a field of the request by name, it
// sends the request again without it.
func (m *Model) try(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	model, err := m.discovery.ModelID(ctx, m.Models)
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
