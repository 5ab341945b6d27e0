// Thinking: how hard to think, and the blocks that go back to the model that wrote them.

package anthropic

import (
	"encoding/json"
	"slices"

	"cairn/llm"
)

// efforts are the values of output_config.effort, the least first.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// leastBudget is the smallest budget_tokens the interface accepts.
const leastBudget = 1024

// think sets what the effort that the request asks for needs; "" sets nothing.
func (c *composed) think(req llm.Request, limits limits, only exceptions) {
	effort := req.Reasoning
	switch {
	case effort == "":
		if limits.thinks { // unasked
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

// nearest is the accepted effort nearest to the wanted one, the smaller one of two.
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

// native is what Message.Native holds.
type native struct {
	Provider string    `json:"provider"` // host and model that wrote it
	Blocks   []thought `json:"blocks"`
}

// thought is a block of thinking, and what of its message came before it. The server
// checks the blocks' signatures and their order.
type thought struct {
	Text  int             `json:"text"`  // bytes of the text
	Calls int             `json:"calls"` // tool calls
	Block json.RawMessage `json:"block"` // thinking or redacted_thinking, as it came
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

// returned is the thinking of m if identity wrote it. It goes back with tool calls only:
// otherwise the server does not want it.
func returned(m llm.Message, identity string) []thought {
	var n native
	if identity == "" || len(m.Calls) == 0 || len(m.Native) == 0 || json.Unmarshal(m.Native, &n) != nil || n.Provider != identity {
		return nil
	}
	return n.Blocks
}

// native keeps the thinking of the answer for identity; nil if there is none.
func (a *answer) native(identity string) json.RawMessage {
	n := native{Provider: identity}
	for _, b := range a.blocks {
		t := b.at
		switch b.kind {
		case "redacted_thinking":
			t.Block = b.raw
		case "thinking":
			t.Block, _ = marshal(thinkingBlock{b.kind, b.thinking.String(), b.signature.String()}) // texts always can be
		default:
			continue
		}
		n.Blocks = append(n.Blocks, t)
	}
	if n.Blocks == nil {
		return nil
	}
	raw, _ := marshal(n) // of JSON that was read before
	return raw
}
