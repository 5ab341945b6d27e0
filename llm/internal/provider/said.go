// What the answers of all wires have in common: text, counts, lists of models.

package provider

import (
	"cmp"
	"encoding/json"
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

// Answer returns the whole text of the answer.
func (s *Said) Answer() string { return withoutThought(s.Text()) }

// Call counts the id and the name of a tool call, and arguments bytes of arguments.
func (s *Said) Call(id, name string, arguments int) error {
	if len(name) > llm.MaxName {
		return llm.TooMany(llm.MaxName, "bytes in the name of a tool")
	}
	return s.Bounds.Said(len(id) + len(name) + arguments)
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
