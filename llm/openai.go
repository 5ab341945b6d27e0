// The model behind any server that speaks OpenAI's chat protocol. go-openai makes
// the requests and reads the streams; an exchange mends what it gets wrong.

package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	openai "github.com/sashabaranov/go-openai"
)

const (
	openAIHost = "api.openai.com"

	// longestWait is how long Generate waits between two attempts. A provider that
	// asks for more gets no second attempt: the caller learns at once and decides.
	longestWait = time.Minute
)

// OpenAIOptions says which server answers, and with how much patience.
type OpenAIOptions struct {
	BaseURL string // up to and including /v1; empty: OpenAI's own
	APIKey  string // empty: none is sent, as local servers like it
	Model   string // empty: the first that GET /models names
	Window  int    // tokens; 0: discovered, see Window

	MaxRetries  int           // further attempts after a temporary failure; 0: 3; negative: none
	RetryDelay  time.Duration // before the first of them, then growing; 0: 500 ms
	IdleTimeout time.Duration // a server that is silent for so long has failed; 0: 2 minutes
	MaxTime     time.Duration // for one answer, further attempts and keep-alives included; 0: 10 minutes
	MaxAnswer   int           // bytes of an answer with its reasoning; a longer one is refused; 0: 4 MiB. See mostSaid too

	Notebook *Notebook // keeps what is learnt about the model; nil: it is forgotten at the end

	HTTPClient *http.Client // nil: a client of its own, without an overall time limit; none follows redirects unless it says so
	Log        *slog.Logger // nil: silent
}

// OpenAI is a Model behind a server that speaks OpenAI's chat protocol.
type OpenAI struct {
	options OpenAIOptions
	host    string // of BaseURL: the identity of the provider
	server  string // host and path of BaseURL, without who asks
	learnt  Learnt // where no notebook has a page

	withoutUsage atomic.Bool   // the server refused stream_options
	asking       chan struct{} // holds a token while one caller asks the server about itself

	mu     sync.Mutex // guards the fields below
	model  string     // empty: not known yet
	window Window     // as set or as the server told; Tokens 0: not asked yet
	told   bool       // the server knew its window
	looks  int        // how often it was asked
}

var (
	_ Model   = (*OpenAI)(nil)
	_ Learner = (*OpenAI)(nil)
)

// NewOpenAI returns a model that has asked the server nothing yet. It fails only
// when BaseURL is no web address.
func NewOpenAI(options OpenAIOptions) (*OpenAI, error) {
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
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{}
	}
	if o.HTTPClient.CheckRedirect == nil {
		client := *o.HTTPClient
		client.CheckRedirect = stay
		o.HTTPClient = &client
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("provider", base.Host)
	return &OpenAI{options: o, host: base.Host, server: base.Host + base.Path, model: o.Model, asking: make(chan struct{}, 1)}, nil
}

// Name is the model's, or the server's host while nobody named a model and none
// was asked for.
func (o *OpenAI) Name() string {
	if model := o.knownModel(); model != "" {
		return model
	}
	return o.host
}

// Learnt is what was learnt about this model on this server, see Notebook: another
// model, or one of the same name elsewhere, has its own. While it is not known which
// model answers, what is learnt is not kept.
func (o *OpenAI) Learnt() *Learnt {
	model := o.knownModel()
	if o.options.Notebook == nil || model == "" {
		return &o.learnt
	}
	return o.options.Notebook.Page(model + "@" + o.server)
}

// Generate answers req, see Model. A temporary failure is tried again, with
// growing pauses or as long as the provider asks, but only while nothing was
// shown. Silence is not: somebody waited long enough. When MaxTime is up the server
// counts as unreachable; when ctx ends its error is returned as it is.
func (o *OpenAI) Generate(ctx context.Context, req Request, show func(delta string)) (Response, error) {
	limited, cancel := ctx, func() {}
	if req.Alive == nil {
		limited, cancel = context.WithTimeout(ctx, o.options.MaxTime)
	}
	defer cancel()
	shown := false
	if show != nil {
		shownTo := show
		show = func(delta string) {
			shown = true
			shownTo(delta)
		}
	}
	var failure error
	attempt := func() (Response, error) {
		if err := req.spend(); err != nil {
			if failure == nil {
				failure = err
			}
			return Response{}, backoff.Permanent(err)
		}
		resp, err := o.try(limited, req, show)
		if failure = err; err == nil {
			return resp, nil
		}
		return resp, o.retryable(err, shown)
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = o.options.RetryDelay
	pause.Multiplier = 2
	pause.MaxInterval = longestWait
	resp, err := backoff.Retry(limited, attempt,
		backoff.WithBackOff(pause),
		backoff.WithMaxTries(uint(1+max(o.options.MaxRetries, 0))),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			o.options.Log.Debug("model failed, trying again", "wait", wait, "error", failure)
		}))
	switch {
	case err == nil:
		o.lookAgain()
		return resp, nil
	case ctx.Err() != nil:
		return Response{}, ctx.Err()
	case limited.Err() != nil:
		return Response{}, &Error{Kind: KindUnreachable, Message: fmt.Sprintf("there was no whole answer in %v", o.options.MaxTime), Err: errLate}
	}
	var refused *Error
	if errors.As(failure, &refused) && refused.Kind == KindOverflow {
		o.Learnt().Limit(refused.Limit)
	}
	return Response{}, failure
}

// retryable translates a failure into the words of the backoff library.
func (o *OpenAI) retryable(err error, shown bool) error {
	var e *Error
	if shown || !errors.As(err, &e) || !e.Passes() || errors.Is(err, errSilent) {
		return backoff.Permanent(err)
	}
	if e.RetryAfter == 0 {
		return err
	}
	// Many conversations are told the same moment; they must not all come back in it.
	wait := e.RetryAfter + rand.N(o.options.RetryDelay)
	return &backoff.RetryAfterError{Duration: wait}
}

// try makes one attempt, or two when the server turns out not to know
// stream_options, which nobody needs to hear of.
func (o *OpenAI) try(ctx context.Context, req Request, show func(string)) (Response, error) {
	model, err := o.modelID(ctx)
	if err != nil {
		return Response{}, err
	}
	usage := !o.withoutUsage.Load()
	resp, err := o.send(ctx, o.compose(model, req, usage), show)
	if usage && KindOf(err) == KindBadRequest && strings.Contains(err.Error(), "stream_options") {
		o.withoutUsage.Store(true)
		if req.spend() != nil {
			return resp, err
		}
		resp, err = o.send(ctx, o.compose(model, req, false), show)
	}
	return resp, err
}

var (
	errSilent = errors.New("the server fell silent")
	errLate   = errors.New("the answer took too long")
)

func (o *OpenAI) silent() *Error {
	return &Error{Kind: KindUnreachable, Message: fmt.Sprintf("nothing came for %v", o.options.IdleTimeout), Err: errSilent}
}

// send makes one request and reads the whole answer to it.
func (o *OpenAI) send(ctx context.Context, c composed, show func(string)) (Response, error) {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(o.options.IdleTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	if c.alive != nil {
		silence.Stop()
	}

	config := openai.DefaultConfig(o.options.APIKey)
	config.BaseURL = o.options.BaseURL
	config.HTTPClient = &exchange{
		client: o.options.HTTPClient, composed: c, maxAnswer: o.options.MaxAnswer,
		silence: silence, patience: o.options.IdleTimeout,
	}
	resp, err := o.read(watched, openai.NewClientWithConfig(config), c.chat, mostSaid(c.maxTokens, o.options.MaxAnswer), show)

	var known *Error
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(context.Cause(watched), errSilent):
		return Response{}, o.silent()
	case errors.As(err, &known):
		return Response{}, known
	}
	// What the library itself refuses to send.
	return Response{}, &Error{Kind: KindBadRequest, Message: err.Error(), Err: err}
}

// read puts the answer together from the library's stream: at most said bytes of text
// and arguments.
func (o *OpenAI) read(ctx context.Context, client *openai.Client, chat openai.ChatCompletionRequest, said int, show func(string)) (Response, error) {
	stream, err := client.CreateChatCompletionStream(ctx, chat)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = stream.Close() }() // the answer is read or lost; nothing more can be done about it
	answer := answer{show: show, maxBytes: o.options.MaxAnswer, maxSaid: said}
	for {
		chunk, err := stream.RecvRaw()
		if err == io.EOF { // the very value: an EOF inside another error is a broken connection
			return answer.response(o.host)
		}
		if err != nil {
			return Response{}, err
		}
		if err := answer.add(chunk); err != nil {
			return Response{}, err
		}
	}
}
