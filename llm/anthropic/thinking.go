// Thinking: the effort, and the blocks that go back to the model that wrote them.

package anthropic

import (
	"encoding/json"
	"slices"

	"cairn/llm"
)

// efforts are the values of output_config.effort, in ascending order.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// leastBudget is the smallest budget_tokens that the interface accepts.
const leastBudget = 1024

// think sets the fields for the requested effort; "" sets nothing.
func (c *composed) think(req llm.Request, limits limits, only exceptions) {
	effort := req.Reasoning
	switch {
	case effort == "":
		if limits.thinks { // by default
			c.room = req.ReasoningRoom("")
		}
		return
	case effort == "none" || only.noThinking:
		switch {
		case !limits.noDisabled:
			c.Thinking = &thinking{Type: "disabled"}
		case !limits.noEffort:
			c.Output = &outputConfig{Effort: nearest("low", limits.refusedEfforts)}
			c.room = req.ReasoningRoom(c.Output.Effort)
		}
		return
	}
	level := nearest(effort, limits.refusedEfforts)
	c.room = req.ReasoningRoom(level)
	switch {
	case !limits.noAdaptive:
		c.Thinking = &thinking{Type: "adaptive"}
	case !limits.noBudget:
		c.Thinking = &thinking{Type: "enabled", Budget: c.room}
	}
	if !limits.noEffort {
		c.Output = &outputConfig{Effort: level}
	}
}

// nearest returns the accepted effort nearest to wanted, the smaller one of two.
func nearest(wanted string, refused map[string]bool) string {
	at := max(slices.Index(efforts, wanted), 0) // "minimal" is not among them
	for distance := range efforts {
		for _, i := range []int{at - distance, at + distance} {
			if i >= 0 && i < len(efforts) && !refused[efforts[i]] {
				return efforts[i]
			}
		}
	}
	return efforts[at]
}

// native is the content of Message.Native.
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

// native returns the thinking of the answer, as written by identity; nil if there is none.
func (a *answer) native(identity string) json.RawMessage {
	n := native{Provider: identity}
	for _, b := range a.blocks {
		t := b.at
		switch b.kind {
		case "redacted_thinking":
			t.Block = b.raw
		case "thinking":
			t.Block, _ = marshal(thinkingBlock{b.kind, b.thinking.String(), b.signature.String()}) // strings can always be encoded
		default:
			continue
		}
		n.Blocks = append(n.Blocks, t)
	}
	if n.Blocks == nil {
		return nil
	}
	raw, _ := marshal(n) // made of JSON that was parsed before
	return raw
}
