// Package provider contains what the clients of all providers share.
package provider

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"cairn/llm"
)

// Options configures the server, its timeouts and retries.
type Options struct {
	BaseURL  string        // up to and including /v1, which Anthropic's interface does not need; "": the provider's own
	APIKey   string        // "": none is sent, as for local servers
	Model    string        // "": chosen from the server's list, see llm.Choose
	Wire     string        // one of the llm.Wire constants; "" or "auto": by address, then by what the server refuses
	Window   int           // tokens; 0: discovered, see Window
	CacheTTL time.Duration // how long the prompt cache must stay warm; 0: the provider's default. Anthropic has two values: 5 minutes, and 1 hour for anything longer

	MaxRetries  int           // retries after a temporary failure; 0: 3; negative: none
	RetryDelay  time.Duration // before the first retry, then growing; 0: 500 ms
	IdleTimeout time.Duration // a server that is silent this long has failed; 0: 5 minutes
	StreamIdle  time.Duration // an answer has broken off if no more text comes for this long after the first; 0: 1 minute
	MaxTime     time.Duration // for one answer, retries and keep-alives included; 0: 10 minutes
	MaxAnswer   int           // bytes of an answer with its reasoning; a longer one is an error; 0: 4 MiB

	Notebook *llm.Notebook // stores what is learned about the model; nil: nothing is stored

	HTTPClient *http.Client // nil: a client of its own, without a total timeout; redirects are not followed
	Log        *slog.Logger // nil: silent
}

// Defaults are what differs between the protocols of providers.
type Defaults struct {
	BaseURL   string   // if none is set
	Cut       string   // suffix removed from a base URL; "": none
	Example   string   // of a base URL, for the error about an invalid one
	Preferred []string // models to choose from if none is set, see llm.Choose
	Efforts   []string // of reasoning, in ascending order
	Optional  []Field  // fields of a request; of several that a refusal names, the first is omitted
}

// Protocol is the part of a model that depends on the provider.
type Protocol interface {
	// Models lists what the server offers.
	Models(ctx context.Context) ([]llm.Offered, error)
	// AskWindow returns the window that the server reports, or that is known about the model; Tokens 0: none.
	AskWindow(ctx context.Context) llm.Window
	// Compose returns the form of a request to send next.
	Compose(p Plan) Form
	// Adapt learns from the refusal of a form, and may change p. It returns false if there is nothing to change.
	Adapt(ctx context.Context, p *Plan, refused *llm.Error, form Form) bool
}

// Client is the part of a model that does not depend on the provider.
type Client struct {
	Options  Options
	Protocol Protocol
	Host     string      // of BaseURL: identifies the provider
	Header   http.Header // of each request: the key

	server   string // host and path of BaseURL, without user and password
	defaults Defaults
	assumed  llm.Window          // if the server reports none
	learned  llm.Learned         // used if the notebook has no page
	asking   *semaphore.Weighted // one caller at a time queries the server about itself

	mu      sync.Mutex // guards the fields below
	demands Demands
	found   discovered

	suspicions map[string]suspicion // of prompts that are too long, by Request.CacheKey
	short      shortOutcome         // of the last short request
	shortAt    time.Time            // when it ended; zero: there was none
	longest    int                  // bytes of the longest prompt that was answered lately
}

// New returns a client that has sent nothing yet, and has no Protocol. It fails if the base URL is no web address.
func New(o Options, d Defaults) (*Client, error) {
	given, _, _ := strings.Cut(o.BaseURL, "?") // behind it there may be a key
	o.BaseURL = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(cmp.Or(o.BaseURL, d.BaseURL), "/"), d.Cut), "/")
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.RawQuery != "" || base.Scheme != "http" && base.Scheme != "https" { // paths are appended
		return nil, fmt.Errorf("base_url %q: must be an address like %s, without a query", given, d.Example)
	}
	if o.Wire == "auto" {
		o.Wire = ""
	}
	o.MaxRetries = cmp.Or(o.MaxRetries, 3)
	o.RetryDelay = cmp.Or(max(o.RetryDelay, 0), 500*time.Millisecond)
	o.IdleTimeout = cmp.Or(max(o.IdleTimeout, 0), 5*time.Minute) // models may reason, and local ones read, that long without a word
	o.StreamIdle = cmp.Or(max(o.StreamIdle, 0), time.Minute)
	o.MaxTime = cmp.Or(max(o.MaxTime, 0), 10*time.Minute)
	o.MaxAnswer = cmp.Or(max(o.MaxAnswer, 0), 4<<20)
	client := *cmp.Or(o.HTTPClient, &http.Client{})
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // conversation and key go only to this server
	o.HTTPClient = &client
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("provider", base.Host)
	assumed := llm.GuessedWindow
	if o.Window > 0 {
		assumed = llm.Window{Tokens: o.Window, Source: "setting"}
	}
	return &Client{
		Options: o, Host: base.Host, Header: http.Header{}, server: base.Host + base.Path, defaults: d, assumed: assumed,
		asking: semaphore.NewWeighted(1), found: discovered{model: o.Model},
		demands: Demands{Refused: map[string]bool{}, Efforts: d.Efforts}, suspicions: map[string]suspicion{},
	}, nil
}

// Name returns the model, or the server's host until a model is set or chosen.
func (c *Client) Name() string { return cmp.Or(c.Model(), c.Host) }

// Learned returns what was learned about this model on this server. Until a model is set or chosen it is not saved.
func (c *Client) Learned() *llm.Learned {
	model := c.Model()
	if c.Options.Notebook == nil || model == "" {
		return &c.learned
	}
	return c.Options.Notebook.Page(c.ModelAtServer())
}

// ModelAtServer identifies the model with its server: "gpt-4o@api.openai.com/v1".
func (c *Client) ModelAtServer() string { return c.Model() + "@" + c.server }
