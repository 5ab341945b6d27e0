// Package openai talks to servers with OpenAI's interface. It imports package llm, whose
// Model it implements.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	api "github.com/sashabaranov/go-openai"

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
	host      string // of BaseURL: the identity of the provider
	server    string // host and path of BaseURL, without user and password
	discovery *llm.Discovery
	learnt    llm.Learnt // where no notebook has a page

	withoutUsage atomic.Bool // the server refused stream_options
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Learner = (*Model)(nil)
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
	case "", "auto", llm.WireChat, llm.WireResponses:
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

// try makes one attempt, or two when the server turns out not to know
// stream_options, which nobody needs to hear of.
func (o *Model) try(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	model, err := o.discovery.ModelID(ctx, o.Models)
	if err != nil {
		return llm.Response{}, err
	}
	usage := !o.withoutUsage.Load()
	resp, err := o.send(ctx, o.compose(model, req, usage), show)
	if usage && llm.KindOf(err) == llm.KindBadRequest && strings.Contains(err.Error(), "stream_options") {
		o.withoutUsage.Store(true)
		if req.Charge() != nil {
			return resp, err
		}
		resp, err = o.send(ctx, o.compose(model, req, false), show)
	}
	return resp, err
}

// send makes one request and reads the whole answer to it.
func (o *Model) send(ctx context.Context, c composed, show func(string)) (llm.Response, error) {
	watched, silence := llm.WatchSilence(ctx, o.options.IdleTimeout)
	defer silence.Stop()

	config := api.DefaultConfig(o.options.APIKey)
	config.BaseURL = o.options.BaseURL
	config.HTTPClient = &exchange{client: o.options.HTTPClient, composed: c, maxAnswer: o.options.MaxAnswer, silence: silence}
	resp, err := o.read(watched, api.NewClientWithConfig(config), c.chat, llm.NewBounds(c.maxTokens, o.options.MaxAnswer), show)
	if err == nil {
		return resp, nil
	}
	var known *llm.Error
	if err = silence.Translate(err); errors.As(err, &known) {
		return llm.Response{}, known
	}
	// What the library itself refuses to send.
	return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
}

// read puts the answer together from the library's stream.
func (o *Model) read(ctx context.Context, client *api.Client, chat api.ChatCompletionRequest, bounds *llm.Bounds, show func(string)) (llm.Response, error) {
	stream, err := client.CreateChatCompletionStream(ctx, chat)
	if err != nil {
		return llm.Response{}, err
	}
	defer func() { _ = stream.Close() }() // the answer is read or lost; nothing more can be done about it
	answer := answer{show: show, bounds: bounds}
	for {
		chunk, err := stream.RecvRaw()
		if err == io.EOF { // the very value: an EOF inside another error is a broken connection
			return answer.response(o.host)
		}
		if err != nil {
			return llm.Response{}, err
		}
		if err := answer.add(chunk); err != nil {
			return llm.Response{}, err
		}
	}
}
