// Package llm talks to language models: messages, tools, the one tool loop, what all models share,
// and the offline model. Package llm/openai and llm/anthropic implement the others.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"cairn/internal/lazy"
)

// Role is the author of a message.
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
	Calls  []Call `json:"calls,omitempty"`   // assistant: the tools it calls
	CallID string `json:"call_id,omitempty"` // tool: the call this answers
	Tool   string `json:"tool,omitempty"`    // tool: the name of the tool that ran

	// Images are the pictures that came with a user's message or a tool's result, in order.
	Images []Image `json:"-"`

	Quotes Quotes `json:"-"` // tool: what the result quotes

	// Native contains what the provider added in fields of its own (reasoning, thought signatures). It is opaque to
	// everything but the model that made it, which sends it back, and only to the same provider.
	Native json.RawMessage `json:"native,omitempty"`

	// Deprived means that Native was dropped while the turn ran, see UnreasonedInWords.
	Deprived bool `json:"-"`
}

// Image is a picture in a request. It is sent if Data is a PNG, JPEG, GIF or WebP; otherwise the text mentions it.
type Image struct {
	File  int64  // id of the stored picture, with which the caller loads Data
	Type  string // media type, for example "image/png"; the type is detected from Data, not from this
	Label string // its name in the text, on one line: "image of #12: cat.png"
	Data  []byte // nil: not loaded
}

// Call is a model's request to run a tool.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it, valid or not
}

// Tool is a tool that a model may call, with its function.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments

	// Run executes a call. The model reads its error in place of the text, and may correct itself, so it must say what to do.
	Run func(ctx context.Context, arguments json.RawMessage) (Result, error)

	// Ends means that a successful call of this tool ends the loop.
	Ends bool

	// Approve says when people must approve a call, for tools of other programs; "": never.
	Approve string
}

// Result is what a call of a tool returns.
type Result struct {
	Text   string
	Images []Image // Text mentions them, for models that cannot see and for when they are no longer sent
	Quotes Quotes  // what Text, or the error of the call, quotes
}

// Quotes are the messages and memories that a text quotes: it is deleted with any of them.
type Quotes struct {
	Messages  []int64     // of the conversation, by seq
	Elsewhere []Elsewhere // messages of other conversations
	Memories  []int64     // of any conversation, by id
}

// Elsewhere is a message of another conversation.
type Elsewhere struct {
	Number  int64 // among the messages of all conversations
	Version int64 // of its conversation, when it was quoted
}

// Request is one call of a model.
type Request struct {
	Messages  []Message
	Tools     []Tool
	ForceTool string // the name of the tool that must be called; "": free choice
	MaxTokens int    // of the answer without its reasoning; 0: the server's own limit
	Spare     int    // tokens of the window beyond prompt and MaxTokens, for reasoning; 0: unknown; negative: none
	Speaker   string // the name under which people know the model; "": unknown
	Reasoning string // one of ReasoningEfforts; "": the server's default

	// Head is how many of the first Messages stay the same until the head changes: system prompt, pins, summaries.
	// Providers that cache at marked places get a mark after them, and after what a later request continues.
	Head     int
	CacheKey string // the same for all requests that share a prefix; at most 64 characters; "": none

	// Alive, if not nil, is called by any goroutine whenever bytes of an answer arrive, and in pauses between attempts.
	// The caller then limits silence and total time through ctx; the limits of the model do not apply, except that an answer
	// that begins and then stalls has broken off.
	Alive func()

	// Spend, if not nil, is called before each attempt that costs something, retries included. An
	// error ends the attempts: Generate returns it, or, if there was one, the failure before.
	Spend func() error

	// FormRefused, if not nil, is called when a server refused an attempt that is made again in another form, before Spend.
	FormRefused func()

	// Failed, if not nil, receives the usage that the server counted for a failed attempt: it is
	// billed nevertheless. The usage of what Generate returns is not reported by it.
	Failed func(Usage)
}

// Charge calls Spend, if there is one, before another attempt.
func (r Request) Charge() error {
	if r.Spend == nil {
		return nil
	}
	return r.Spend()
}

// ReportFormRefused calls FormRefused, if there is one.
func (r Request) ReportFormRefused() {
	if r.FormRefused != nil {
		r.FormRefused()
	}
}

// ReportFailed calls Failed, if there is one and anything was counted.
func (r Request) ReportFailed(u Usage) {
	if r.Failed != nil && u != (Usage{}) {
		r.Failed(u)
	}
}

// Finish reasons, as the chat protocol names them.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishFilter    = "content_filter"
)

// Response is a complete answer. Half an answer is an error, never a Response.
type Response struct {
	Message      Message
	FinishReason string
	Usage        Usage
}

// Usage is what the provider counted, in tokens; all zero if it counted nothing.
type Usage struct {
	Prompt     int // the full prompt, Cached and Written included
	Completion int // the answer, its reasoning included
	Cached     int // of Prompt: read from the provider's cache
	Written    int // of Prompt: written to the provider's cache
}

// ReasoningEfforts are the values of Request.Reasoning, in ascending order. A model gets the nearest it has.
var ReasoningEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Offered is a model that a server lists, as far as the server describes it.
type Offered struct {
	ID     string
	Window int    // tokens; 0: the server does not say
	Tools  string // "yes", "no", or "" if the server does not say
	Images string // likewise
}

// Cacher is a Model that knows its provider's prompt cache: how long it stays warm, and its rule.
type Cacher interface {
	CacheTTL() time.Duration
	CacheRule() string
}

// CacheTTLOf returns how long a model's provider keeps its prompt cache; nil if the model does not know.
func CacheTTLOf(m Model) func() time.Duration {
	if c, ok := m.(Cacher); ok {
		return c.CacheTTL
	}
	return nil
}

// The cache rules: which part of a request is read from the provider's cache.
const (
	CachePrefix      = "prefix"      // the prefix it shares with the previous request, byte by byte (OpenAI up to 5.5, Gemini, llama.cpp, vLLM)
	CacheBreakpoints = "breakpoints" // up to a mark at which an earlier request had a mark too; the rest, to the last mark, is written (OpenAI from 5.6 on, Anthropic)
	CacheUnits       = "units"       // a full earlier request, with its answer (DeepSeek)
)

// The wires: the protocols of providers.
const (
	WireChat      = "chat"      // POST /v1/chat/completions
	WireResponses = "responses" // POST /v1/responses
	WireMessages  = "messages"  // POST /v1/messages
)

// MediaType returns the type detected from i.Data, and whether providers accept it.
func (i Image) MediaType() (kind string, sendable bool) {
	switch kind = http.DetectContentType(i.Data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind, true
	}
	return kind, false
}

// Content returns the pictures of m that providers accept, and its text, which mentions the others.
func (m Message) Content() (text string, images []Image) {
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

// Name returns the label, "image" if there is none.
func (i Image) Name() string {
	return cmp.Or(i.Label, "image")
}

// Window is a model's context window.
type Window struct {
	Tokens int    // prompt and answer together
	Source string // the source of the number, in words for people: "setting", "GET /models", "default", …
}

// DefaultWindow is assumed if no setting and no server gives another one, in tokens.
const DefaultWindow = 128_000

// GuessedWindow is the window of that size.
var GuessedWindow = Window{Tokens: DefaultWindow, Source: "default"}

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Name identifies the model in logs, metrics and learned values.
	Name() string
	// Window returns the context window. It may ask the server once and caches the answer.
	Window(ctx context.Context) Window
	// Generate answers req. If show is not nil, it receives each piece of text as it arrives; that
	// text is valid only if no error follows. Errors of the provider are of type *Error.
	Generate(ctx context.Context, req Request, show func(delta string)) (Response, error)
}

// rooms are the tokens that reasoning may take in addition to the answer, by effort.
var rooms = map[string]int{"none": 0, "minimal": 2048, "low": 4096, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_768}

// ReasoningRoom returns by how many tokens the limit of an answer exceeds MaxTokens for reasoning of this effort, which
// providers count as answer. "" is the effort of a model that thinks by default.
func (r Request) ReasoningRoom(effort string) int {
	room := rooms[cmp.Or(effort, "medium")]
	if r.Spare != 0 {
		room = min(room, max(r.Spare, 0))
	}
	return room
}

// notChat matches the ids of models that are not for conversations.
var notChat = lazy.Pattern(`(?i)embed|rerank|tts|audio|whisper|transcri|image|dall-e|sora|moderation|realtime|search|codex|computer-use|` +
	`instruct-2|davinci|babbage|\bflux\b|diffusion|\bocr\b|\bveo\b|\b(?:bge|e5|gte)-|minilm|paraphrase|\bclip\b|guard`)

// dated matches the ids of snapshots: gpt-4o-2024-08-06, gpt-4-0613, claude-3-5-haiku-20241022.
var dated = lazy.Pattern(`-(?:20\d\d-?\d\d-?\d\d|[01]\d[0-3]\d)(?:-preview)?$`)

// Choose returns the first model of preferred that is offered. If none is, it returns the first offered one that
// looks like a chat model, a dated snapshot only if there is nothing else. ok is false if no chat model is offered.
func Choose(preferred []string, offered []Offered) (chosen Offered, ok bool) {
	for _, id := range preferred {
		if i := slices.IndexFunc(offered, func(o Offered) bool { return o.ID == id }); i >= 0 {
			return offered[i], true
		}
	}
	for _, o := range offered {
		if o.ID == "" || notChat().MatchString(o.ID) {
			continue
		}
		if !dated().MatchString(o.ID) {
			return o, true
		}
		if !ok {
			chosen = o
			ok = true // unless there is more than snapshots
		}
	}
	return chosen, ok
}
