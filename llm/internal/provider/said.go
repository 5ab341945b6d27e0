// What the answers of all wires have in common: text, counts, lists of models.

package provider

import (
	"cmp"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"cairn/llm"
)

// An answer of n tokens may have bytesPerToken*n bytes, and always leastSaid. A token has 4 to 5
// bytes in most languages, so normal answers stay below.
const (
	leastSaid     = 64 << 10
	bytesPerToken = 32
)

// Said accumulates the text of an answer, and counts its bytes: a server that sends without end must
// not fill memory.
type Said struct {
	show func(string) // may be nil

	maxBytes, maxSaid int
	bytes, said       int
	over              error // the first limit that was exceeded

	text    strings.Builder
	thought thoughtFilter
}

// NewSaid returns the beginning of an answer of at most tokens tokens (0: not limited) and maxBytes
// bytes. show, if not nil, receives the text as it arrives.
func NewSaid(show func(string), tokens, maxBytes int) Said {
	s := Said{show: show, maxBytes: maxBytes, maxSaid: maxBytes}
	if tokens > 0 && tokens <= maxBytes/bytesPerToken {
		s.maxSaid = min(max(leastSaid, tokens*bytesPerToken), maxBytes)
	}
	return s
}

// Count counts bytes of text, call ids, names and arguments.
func (s *Said) Count(n int) {
	if s.said += n; s.said > s.maxSaid {
		s.Exceed(llm.TooLong(s.maxSaid))
	}
	s.CountOther(n)
}

// CountOther counts bytes of reasoning and other fields, which some servers do not count as tokens of
// the answer.
func (s *Said) CountOther(n int) {
	if s.bytes += n; s.bytes > s.maxBytes {
		s.Exceed(llm.TooLong(s.maxBytes))
	}
}

// Exceed records that a limit was exceeded: the answer is given up after the current event.
func (s *Said) Exceed(limit *llm.Error) {
	if s.over == nil {
		s.over = limit
	}
}

// Over returns the limit that was exceeded, nil if none.
func (s *Said) Over() error { return s.over }

// Say adds a piece. NUL bytes are removed: they break databases and terminals. So is a thought in
// tags at the start.
func (s *Said) Say(piece string) {
	piece = strings.ReplaceAll(piece, "\x00", "")
	if s.Count(len(piece)); s.over != nil {
		return
	}
	piece = s.thought.next(piece)
	s.text.WriteString(piece)
	if s.show != nil && piece != "" {
		s.show(piece)
	}
}

// Thought reports whether the text began with a thought.
func (s *Said) Thought() bool { return s.thought.end != "" }

// Text returns the text so far.
func (s *Said) Text() string { return s.text.String() + s.thought.rest() }

// Call is a tool call that is being received.
type Call struct {
	ID, Name  string
	Arguments strings.Builder
}

// Begin sets id and name of a call, unless it has them, and counts them and the arguments that come
// with them.
func (s *Said) Begin(c *Call, id, name, arguments string) {
	if len(name) > llm.MaxName {
		s.Exceed(llm.TooMany(llm.MaxName, "bytes in the name of a tool"))
	}
	c.ID, c.Name = cmp.Or(c.ID, id), cmp.Or(c.Name, name)
	c.Arguments.WriteString(arguments)
	s.Count(len(id) + len(name) + len(arguments))
}

// Message returns the whole answer, with an id for each call.
func (s *Said) Message(calls iter.Seq[*Call]) (llm.Message, error) {
	m := llm.Message{Role: llm.RoleAssistant, Text: withoutThought(s.Text())}
	for call := range calls {
		if call.Name == "" {
			return m, llm.Truncated(errors.New("a tool call without a name"))
		}
		m.Calls = append(m.Calls, llm.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments.String()})
	}
	if len(m.Calls) > llm.MaxCalls {
		return m, llm.TooMany(llm.MaxCalls, "tool calls")
	}
	llm.NameCalls(m.Calls)
	return m, nil
}

// mostCounted is the largest count that is accepted. No window is as large.
const mostCounted = 100_000_000

// Tokens is a count of tokens. An invalid or impossible value counts as missing.
type Tokens int

// UnmarshalJSON never fails.
func (n *Tokens) UnmarshalJSON(raw []byte) error {
	var v float64
	if json.Unmarshal(raw, &v) == nil && v > 0 && v <= mostCounted {
		*n = Tokens(v)
	}
	return nil
}

// Listed is the window in an entry of a list of models, in the fields of various servers.
type Listed struct {
	MaxInputTokens   Tokens `json:"max_input_tokens"`   // Anthropic
	MaxModelLen      Tokens `json:"max_model_len"`      // vLLM
	ContextLength    Tokens `json:"context_length"`     // OpenRouter, Together, Fireworks, Moonshot
	ContextWindow    Tokens `json:"context_window"`     // Groq
	MaxContextLength Tokens `json:"max_context_length"` // Mistral
	Meta             struct {
		Context Tokens `json:"n_ctx"`
	} // llama.cpp
}

// Window returns the window in tokens; 0: the server does not say.
func (l Listed) Window() int {
	return int(cmp.Or(l.MaxInputTokens, l.Meta.Context, l.MaxModelLen, l.ContextLength, l.ContextWindow, l.MaxContextLength))
}
