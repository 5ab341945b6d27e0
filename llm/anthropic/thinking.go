// Thinking: the effort, and the blocks that go back to the model that wrote them.

package anthropic

import (
	"cmp"
	"encoding/json"

	"cairn/llm"
	"cairn/llm/provider"
)

// The kinds of thinking, each of which some models refuse.
const (
	adaptive = "adaptive"
	disabled = "disabled"
)

// think sets the fields for the requested effort; "" sets nothing.
func (c *composed) think(p provider.Plan) {
	if p.Refused[fieldThinking+adaptive] && p.Reasoning != "none" {
		p.Reasoning = ""
		p.Effort = "" // it thinks by default or not at all, as models before Claude 4.6
	}
	switch {
	case p.Reasoning == "" && !p.Thinks:
		return
	case p.Reasoning == "none" && !p.Refused[fieldThinking+disabled]:
		c.Thinking = map[string]string{"type": disabled}
		return
	}
	c.room = p.ReasoningRoom(cmp.Or(p.Effort, p.Reasoning))
	if p.Effort != "" {
		c.Output = map[string]string{"effort": p.Effort}
	}
	if p.Reasoning != "" && p.Reasoning != "none" { // otherwise it is the model's default, or cannot be switched off
		c.Thinking = map[string]string{"type": adaptive}
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
