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

// Said accumulates the text of an answer.
type Said struct {
	Show   func(string) // may be nil
	Bounds *llm.Bounds

	text    strings.Builder
	thought thoughtFilter
}

// Say adds a piece. NUL bytes are removed: they break databases and terminals. So is a thought in
// tags at the start.
func (s *Said) Say(piece string) error {
	piece = strings.ReplaceAll(piece, "\x00", "")
	if err := s.Bounds.Said(len(piece)); err != nil {
		return err
	}
	piece = s.thought.next(piece)
	s.text.WriteString(piece)
	if s.Show != nil && piece != "" {
		s.Show(piece)
	}
	return nil
}

// Text returns the text so far.
func (s *Said) Text() string { return s.text.String() + s.thought.rest() }

// Call is a tool call that is being received.
type Call struct {
	ID, Name  string
	Arguments strings.Builder
}

// Begin sets id and name of a call, unless it has them, and counts them and the arguments that come
// with them.
func (s *Said) Begin(c *Call, id, name, arguments string) error {
	if len(name) > llm.MaxName {
		return llm.TooMany(llm.MaxName, "bytes in the name of a tool")
	}
	c.ID, c.Name = cmp.Or(c.ID, id), cmp.Or(c.Name, name)
	c.Arguments.WriteString(arguments)
	return s.Bounds.Said(len(id) + len(name) + len(arguments))
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
	MaxInputTokens int `json:"max_input_tokens"` // Anthropic
	MaxModelLen    int `json:"max_model_len"`    // vLLM
	ContextLength  int `json:"context_length"`   // OpenRouter
	Meta           struct {
		Context int `json:"n_ctx"`
	} // llama.cpp
}

// Window returns the window in tokens; 0: the server does not say.
func (l Listed) Window() int {
	return cmp.Or(max(l.MaxInputTokens, 0), max(l.Meta.Context, 0), max(l.MaxModelLen, 0), max(l.ContextLength, 0))
}
