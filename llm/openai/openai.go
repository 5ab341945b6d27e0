// Package openai talks to servers with OpenAI's interface, on chat completions and on
// Responses. It imports package llm, whose Model it implements.
package openai

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

	"cairn/llm"
)

const openAIHost = "api.openai.com"

// Options says which server answers, and with how much patience.
type Options struct {
	BaseURL  string        // up to and including /v1; empty: OpenAI's own
	APIKey   string        // empty: none is sent, as local servers like it
	Model    string        // empty: chosen from GET /models, see llm.Choose
	Wire     string        // llm.WireChat or llm.WireResponses; empty or "auto": by address, then by what the server refuses
	Window   int           // tokens; 0: discovered, see Window
	CacheTTL time.Duration // how long the provider's prompt cache stays warm; 0: the provider's own time

	MaxRetries  int           // further attempts after a temporary failure; 0: 3; negative: none
	RetryDelay  time.Duration // before the first of them, then growing; 0: 500 ms
	IdleTimeout time.Duration // a server that is silent for so long has failed; 0: 2 minutes
	MaxTime     time.Duration // for one answer, further attempts and keep-alives included; 0: 10 minutes
	MaxAnswer   int           // bytes of an answer with its reasoning; a longer one is refused; 0: 4 MiB. See llm.Bounds too

	Notebook *llm.Notebook // keeps what is learnt about the model; nil: it is forgotten at the end

	HTTPClient *http.Client // nil: a client of its own, without an overall time limit; none follows redirects unless it says so
	Log        *slog.Logger // nil: silent
}

// Model is an llm.Model behind a server with OpenAI's interface.
type Model struct {
	options   Options
	host      string // of BaseURL
	server    string // host and path of BaseURL, without user and password
	discovery *llm.Discovery
	learnt    llm.Learnt // where no notebook has a page

	mu      sync.Mutex // guards the fields below
	demands demands    // what the server turned out to demand
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Learner = (*Model)(nil)
	_ llm.Lister  = (*Model)(nil)
	_ llm.Cacher  = (*Model)(nil)
	_ llm.Wired   = (*Model)(nil)
)

// New returns a model that has sent nothing yet. It fails when BaseURL is no web
// address or Wire is unknown.
func New(options Options) (*Model, error) {
	o := options
	if o.BaseURL == "" {
		o.BaseURL = "https://" + openAIHost + "/v1"
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url %q: %w", o.BaseURL, err)
	}
	if base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("base_url %q: want an address like http://localhost:11434/v1", o.BaseURL)
	}
	switch o.Wire {
	case "auto":
		o.Wire = ""
	case "", llm.WireChat, llm.WireResponses:
	default:
		return nil, fmt.Errorf("wire %q: want auto, %s or %s", o.Wire, llm.WireChat, llm.WireResponses)
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
		discovery: llm.NewDiscovery(o.Model, o.Window, preferred, o.Log),
		demands:   demands{base: o.BaseURL},
	}, nil
}

// Name is the model's, or the server's host while no model is set or chosen.
func (o *Model) Name() string {
	if model := o.discovery.Model(); model != "" {
		return model
	}
	return o.host
}

// Learnt is what was learnt about this model on this server, see llm.Notebook. While no
// model is set or chosen it is not kept.
func (o *Model) Learnt() *llm.Learnt {
	model := o.discovery.Model()
	if o.options.Notebook == nil || model == "" {
		return &o.learnt
	}
	return o.options.Notebook.Page(model + "@" + o.server)
}

// Wire is the wire of the next request: the setting, else the one the server demanded,
// else Responses for OpenAI and chat completions for all others.
func (o *Model) Wire() string {
	if o.options.Wire != "" {
		return o.options.Wire
	}
	switch wire := o.Learnt().Facts().Wire; {
	case wire == llm.WireChat || wire == llm.WireResponses:
		return wire
	case o.host == openAIHost:
		return llm.WireResponses
	}
	return llm.WireChat
}

// Generate answers req, see llm.Model and llm.Retry.
func (o *Model) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	retry := llm.Retry{Max: o.options.MaxRetries, Delay: o.options.RetryDelay, MaxTime: o.options.MaxTime, Log: o.options.Log}
	resp, err := retry.Do(ctx, req, show, func(ctx context.Context, show func(string)) (llm.Response, error) {
		return o.try(ctx, req, show)
	})
	if err == nil {
		o.discovery.Answered()
		return resp, nil
	}
	var refused *llm.Error
	if errors.As(err, &refused) && refused.Kind == llm.KindOverflow {
		o.Learnt().Limit(refused.Limit)
	}
	return llm.Response{}, err
}

// try makes one attempt, and further ones while the server refuses a form of the request
// that can be changed, see adapt.
func (o *Model) try(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	model, err := o.discovery.ModelID(ctx, o.list)
	if err != nil {
		return llm.Response{}, err
	}
	var changes adaptation
	shown := false
	if show != nil {
		showTo := show
		show = func(delta string) {
			shown = true
			showTo(delta)
		}
	}
	for {
		p := o.plan(model)
		p.noRoom = changes.noRoom
		resp, err := o.send(ctx, p, req, show)
		if err == nil {
			o.confirm(&changes)
			if len(resp.Message.Native) > 0 && !p.thinks {
				o.demand(func(d *demands) { d.thinks = true })
			}
			return resp, nil
		}
		if shown || !o.adapt(&changes, p, req, err) || req.Charge() != nil {
			return resp, err
		}
	}
}

// send makes one request and reads the whole answer to it. With an error the response
// holds what the server counted, if it did.
func (o *Model) send(ctx context.Context, p plan, req llm.Request, show func(string)) (llm.Response, error) {
	body, err := p.encode(req)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
	}
	watched, silence := llm.WatchSilence(ctx, o.options.IdleTimeout)
	defer silence.Stop()
	silence.Report(req.Alive)
	resp, err := o.post(watched, p.address(), body, silence)
	if err == nil {
		defer func() { _ = resp.Body.Close() }() // the answer is read or lost; nothing more can be done about it
		bounds := llm.NewBounds(p.answerTokens(req), o.options.MaxAnswer)
		reader := p.reader(show, bounds)
		var answer llm.Response
		if answer, err = read(resp, reader, o.options.MaxAnswer); err == nil {
			silence.Drain(resp.Body)
			return answer, nil
		}
		return llm.Response{Usage: reader.counted()}, silence.Translate(err)
	}
	return llm.Response{}, silence.Translate(err)
}
