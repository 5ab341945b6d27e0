// Thinking: the effort, and the blocks that go back to the model that wrote them.

package anthropic

import (
	"cmp"
	"encoding/json"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// leastBudget is the smallest budget_tokens that the interface accepts.
const leastBudget = 1024

// The kinds of thinking, each of which some models refuse.
const (
	adaptive = "adaptive"
	budgeted = "enabled"
	disabled = "disabled"
)

// think sets the fields for the requested effort; "" sets nothing.
func (c *composed) think(p provider.Plan) {
	switch {
	case p.Reasoning == "" && !p.Thinks:
		return
	case p.Reasoning == "none" && !p.Refused[fieldThinking+disabled]:
		c.Thinking = &thinking{Type: disabled}
		return
	}
	c.room = p.ReasoningRoom(cmp.Or(p.Effort, p.Reasoning))
	if p.Effort != "" {
		c.Output = map[string]string{"effort": p.Effort}
	}
	switch {
	case p.Reasoning == "" || p.Reasoning == "none": // it is the model's default, or cannot be switched off
	case !p.Refused[fieldThinking+adaptive]:
		c.Thinking = &thinking{Type: adaptive}
	case !p.Refused[fieldThinking+budgeted]:
		c.Thinking = &thinking{Type: budgeted, Budget: c.room}
	}
}

type native struct {
	Provider string    `json:"provider"` // host and model that wrote it
	Blocks   []thought `json:"blocks"`
}

// thought is a block of thinking, and its position in the message. The server checks the signatures and the order.
type thought struct {
	Text  int             `json:"text"`  // bytes of text before it
	Calls int             `json:"calls"` // tool calls before it
	Block json.RawMessage `json:"block"` // thinking or redacted_thinking, unchanged
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

// returned returns the thinking of m if author wrote it. The server needs it only with tool calls.
func returned(m llm.Message, author string) []thought {
	var n native
	if author == "" || len(m.Calls) == 0 || len(m.Native) == 0 || json.Unmarshal(m.Native, &n) != nil || n.Provider != author {
		return nil
	}
	return n.Blocks
}

// Native implements provider.Reader. Thinking without calls is never sent back.
func (a *answer) Native(calls []llm.Call) json.RawMessage {
	n := native{Provider: a.author}
	for _, b := range a.blocks {
		t := b.at
		switch b.kind {
		case "redacted_thinking":
			t.Block = b.raw
		case "thinking":
			t.Block, _ = provider.Marshal(thinkingBlock{b.kind, b.thinking.String(), b.signature.String()}) // strings can always be encoded
		default:
			continue
		}
		n.Blocks = append(n.Blocks, t)
	}
	if n.Blocks == nil || len(calls) == 0 {
		return nil
	}
	raw, _ := provider.Marshal(n) // made of JSON that was parsed before
	return raw
}
