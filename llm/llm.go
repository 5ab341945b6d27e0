// Package llm talks to language models: messages, tools, the one tool loop, and
// the models themselves, an OpenAI-compatible one and an offline one.
package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Role says who speaks in a message.
type Role string

// The four roles of the chat protocol.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a request, or the answer to one.
type Message struct {
	Role   Role   `json:"role"`
	Text   string `json:"text,omitempty"`
	Calls  []Call `json:"calls,omitempty"`   // assistant: the tools it wants run
	CallID string `json:"call_id,omitempty"` // tool: the call this answers
	Tool   string `json:"tool,omitempty"`    // tool: the name of the tool that ran

	// Images are the pictures that came with it, in order: of a user alone.
	Images []Image `json:"-"`

	// Native is what the provider added in fields of its own (reasoning, thought
	// signatures). It is opaque to all but the model that made it, which sends it
	// back, and only to the same provider.
	Native json.RawMessage `json:"native,omitempty"`

	// Deprived tells that Native was dropped while the turn ran: providers that demand
	// reasoning within its turn refuse the calls, see DeprivedInWords.
	Deprived bool `json:"-"`
}

// Image is a picture in a request. It is sent if Data is a PNG, JPEG, GIF or WebP;
// else the request says in words that there is one.
type Image struct {
	File  int64  // where the picture is kept; the caller loads Data by it
	Type  string // media type, as "image/png"; what Data begins with is believed, not this
	Label string // what the text calls it, in one line: "image of #12: cat.png"
	Data  []byte // the picture; nil: not at hand
}

// Call is one wish of the model to run a tool.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it, valid or not
}

// Tool is something a model may call. It carries its own function, so that a
// tool bound to a job or a conversation needs no registry.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments

	// Run answers a call. Its error is shown to the model, which may correct
	// itself, so it must say what to do.
	Run func(ctx context.Context, arguments json.RawMessage) (string, error)

	// Ends tells that a successful call of this tool ends the loop.
	Ends bool
}

// Request is one call of a model.
type Request struct {
	Messages    []Message
	Tools       []Tool
	ForceTool   string         // the name of the tool that must be called; empty: free choice
	MaxTokens   int            // of the answer without its reasoning; 0: the server's own limit
	Spare       int            // tokens of the window beyond prompt and MaxTokens, for reasoning; 0: not known
	Temperature *float64       // nil: the server's own; 0 is sent as 0
	Extra       map[string]any // merged into the body of a chat completion: top_k, …
	Reasoning   string         // how hard to think, one of ReasoningEfforts; empty: the server's own

	// Head is how many of Messages, from the first on, stay the same until the head
	// changes: the system prompt, what is kept, and the summaries. Providers that cache at
	// marked places get a mark behind them, and behind what a later request goes on with.
	Head     int
	CacheKey string // the same for all requests that share a beginning; at most 64 characters; empty: none

	// Alive, when not nil, is called whenever bytes of an answer arrive: text, reasoning,
	// arguments of tools and keep-alives alike. Its caller watches for silence and for the
	// time of the whole, so the model's own limits of both do not apply: ctx's do.
	Alive func()

	// Spend, when not nil, is asked before each attempt that costs something, the first
	// one and those after a failure alike. Its error ends the attempts: it is what
	// Generate returns, or, if there was one, the failure before.
	Spend func() error

	// Failed gets, when not nil, what the server counted for an attempt that failed: it is
	// billed all the same. What Generate returns is not reported here.
	Failed func(Usage)
}

// Charge asks Spend, if there is one, whether another attempt may be made.
func (r Request) Charge() error {
	if r.Spend == nil {
		return nil
	}
	return r.Spend()
}

// failed reports the usage of an attempt that failed, if the server counted any.
func (r Request) failed(u Usage) {
	if r.Failed != nil && u != (Usage{}) {
		r.Failed(u)
	}
}

// Why a model stopped, as the chat protocol names it.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishFilter    = "content_filter"
)

// Response is a whole answer. Half an answer is an error, never a Response.
type Response struct {
	Message      Message
	FinishReason string
	Usage        Usage
}

// Usage is what the provider counted, in tokens; all zero when it did not say.
type Usage struct {
	Prompt     int // the whole prompt, Cached and Written included
	Completion int // the answer, its reasoning included
	Cached     int // of Prompt: read from the provider's cache
	Written    int // of Prompt: written to the provider's cache
}

// ReasoningEfforts are the values of Request.Reasoning, the least first. A model that
// lacks one gets the nearest it has.
var ReasoningEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Offered is a model that a server lists, as far as the server describes it.
type Offered struct {
	ID     string
	Window int    // tokens; 0: the server does not say
	Tools  string // "yes", "no", or "" where the server does not say
	Images string // likewise
}

// Lister is a Model whose server can be asked which models it offers.
type Lister interface {
	Models(ctx context.Context) ([]Offered, error)
}

// Cacher is a Model that knows how long its provider's prompt cache stays warm.
type Cacher interface {
	CacheTTL() time.Duration
}

// CacheRuler is a Model that knows by which rule its provider caches prompts: a kind of
// internal/promptcache.
type CacheRuler interface {
	CacheRule() string
}

// The rules: what of a request is read from the provider's cache.
const (
	CachePrefix      = "prefix"      // what it begins with in common with the one before
	CacheBreakpoints = "breakpoints" // up to a mark behind which an earlier one was marked too
	CacheUnits       = "units"       // a whole earlier request, with its answer
)

// The wires: how a provider is spoken to.
const (
	WireChat      = "chat"      // POST /v1/chat/completions
	WireResponses = "responses" // POST /v1/responses
	WireMessages  = "messages"  // POST /v1/messages
)

// Wired is a Model that knows which wire its next request takes.
type Wired interface {
	Wire() string
}

// MediaType is the type that i.Data begins with, and whether providers accept it.
func (i Image) MediaType() (kind string, sendable bool) {
	switch kind = http.DetectContentType(i.Data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind, true
	}
	return kind, false
}

// Shown returns the pictures of m that providers accept, and its text, which says in words
// what the others are.
func (m Message) Shown() (text string, images []Image) {
	text = m.Text
	for _, image := range m.Images {
		if _, sendable := image.MediaType(); sendable {
			images = append(images, image)
			continue
		}
		if text != "" {
			text += "\n\n"
		}
		text += "[" + image.Name() + ", not shown]"
	}
	return text, images
}

// Name is the label, "image" if there is none.
func (i Image) Name() string {
	if i.Label == "" {
		return "image"
	}
	return i.Label
}

// Window is a model's context window.
type Window struct {
	Tokens int    // prompt and answer together
	Source string // where the number comes from, in words for people: "setting", "GET /models", "default", …
}

// DefaultWindow is believed where no setting and no server tells another.
const DefaultWindow = 128_000

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Name identifies the model in logs, gauges and learnt values.
	Name() string
	// Window tells the context window. It may ask the server once and remembers.
	Window(ctx context.Context) Window
	// Generate answers req. Each piece of text goes to show as it arrives, when
	// show is not nil; what was shown counts only if no error follows. Errors of
	// the provider are of type *Error.
	Generate(ctx context.Context, req Request, show func(delta string)) (Response, error)
}
