// Thinking: the effort, and the blocks that go back to the model that wrote them.

package anthropic

import (
	"encoding/json"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// efforts are the values of output_config.effort, in ascending order.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// leastBudget is the smallest budget_tokens that the interface accepts.
const leastBudget = 1024

// The kinds of thinking, each of which some models refuse.
const (
	adaptive = "adaptive"
	budgeted = "enabled"
	disabled = "disabled"
)

// think sets the fields for the requested effort; "" sets nothing.
func (c *composed) think(req llm.Request, learned provider.Demands) {
	none, refused := req.Reasoning == "none", learned.Refused
	switch {
	case req.Reasoning == "" && !learned.Thinks:
		return
	case req.Reasoning == "":
		c.room = req.ReasoningRoom("")
		return
	case none && !refused[fieldThinking+disabled]:
		c.Thinking = &thinking{Type: disabled}
		return
	}
	accepted := learned.Efforts
	if accepted == nil {
		accepted = efforts
	}
	if level := provider.Nearest(req.Reasoning, accepted); level != "" {
		c.Output = map[string]string{"effort": level}
		c.room = req.ReasoningRoom(level)
	} else {
		c.room = req.ReasoningRoom(req.Reasoning)
	}
	switch {
	case none: // it cannot be switched off
	case !refused[fieldThinking+adaptive]:
		c.Thinking = &thinking{Type: adaptive}
	case !refused[fieldThinking+budgeted]:
		c.Thinking = &thinking{Type: budgeted, Budget: c.room}
	}
}

type native struct {
	Provider string    `json:"provider"` // host and model that wrote it
	Blocks   []thought `json:"blocks"`
}

// thought is a block of thinking, and its position in the message. The server checks the blocks'
// signatures and their order.
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

// returned returns the thinking of m if identity wrote it. It is sent back only with tool calls:
// the server does not need it otherwise.
func returned(m llm.Message, identity string) []thought {
	var n native
	if identity == "" || len(m.Calls) == 0 || len(m.Native) == 0 || json.Unmarshal(m.Native, &n) != nil || n.Provider != identity {
		return nil
	}
	return n.Blocks
}

// Native implements provider.Wire. Thinking without calls is never sent back.
func (a *answer) Native(calls []llm.Call) json.RawMessage {
	n := native{Provider: a.identity}
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
