// Assembles a complete answer, and the server's token counts, from the events of a stream.

package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/llm/provider"
)

const maxBlocks = 1024

// answer accumulates events. It is complete with message_stop.
type answer struct {
	*provider.Answer

	author string // the answering model: host and name
	blocks []*growing
	reason string // stop_reason
	usage  usage
}

// growing is a block whose content arrives in pieces.
type growing struct {
	index     int
	kind      string          // type of the block
	raw       json.RawMessage // redacted_thinking: the block unchanged
	at        thought         // its position
	call      *provider.Call
	whole     bool // the arguments of the call are those of its start
	thinking  strings.Builder
	signature strings.Builder
}

type event struct {
	Type         string
	Index        int
	Message      struct{ Usage json.RawMessage }
	Block        json.RawMessage `json:"content_block"`
	Delta        piece
	Usage, Error json.RawMessage
}

// piece is the start of a block, which some servers send with all of it, or more of it.
type piece struct {
	Type, Text, Thinking, Signature, ID, Name string

	Input      json.RawMessage
	Arguments  string `json:"partial_json"`
	StopReason string `json:"stop_reason"`
}

// Add adds one event. Unknown types are ignored, as the interface demands.
func (a *answer) Add(data []byte) (done bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, llm.Truncated(err)
	}
	switch e.Type {
	case "message_start":
		a.Started = true
		a.count(e.Message.Usage)
	case "content_block_start":
		return false, a.start(e.Index, e.Block)
	case "content_block_delta":
		b := a.block(e.Index)
		if b == nil {
			return false, llm.Truncated(fmt.Errorf("a piece of block %d, which was not started", e.Index))
		}
		a.grow(b, e.Delta)
	case "message_delta":
		a.count(e.Usage)
		if e.Delta.StopReason != "" {
			a.reason = e.Delta.StopReason
		}
	case "message_stop":
		return true, a.end()
	case "error":
		return false, llm.Refused(0, nil, data)
	case "ping", "content_block_stop":
	default:
		if provider.Filled(e.Error) {
			return false, llm.Refused(0, nil, data)
		}
	}
	return false, nil
}

// block returns the block with an index; nil if it has not started.
func (a *answer) block(index int) *growing {
	for _, b := range slices.Backward(a.blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (a *answer) start(index int, raw json.RawMessage) error {
	var c piece
	if err := json.Unmarshal(raw, &c); err != nil {
		return llm.Truncated(err)
	}
	if len(a.blocks) == maxBlocks {
		return llm.TooLong(maxBlocks, "blocks")
	}
	b := &growing{index: index, kind: c.Type, at: thought{Text: len(a.Text()), Calls: len(a.Calls)}}
	a.blocks = append(a.blocks, b)
	a.Started = true
	switch c.Type {
	case "tool_use":
		b.call = a.AddCall(index)
		b.whole = true
		a.Begin(b.call, c.ID, c.Name, string(c.Input))
	case "redacted_thinking":
		a.Reasoned = true
		a.Reasons()
		b.raw = slices.Clone(raw)
		a.Count(len(raw))
	case "thinking", "text":
		if c.Type == "thinking" {
			a.Reasoned = true
			a.Reasons()
		}
		a.grow(b, c)
	}
	return nil
}

func (a *answer) grow(b *growing, p piece) {
	switch b.kind {
	case "text":
		a.Say(p.Text)
	case "tool_use":
		if b.whole && p.Arguments != "" {
			b.call.Arguments.Reset()
			b.whole = false
		}
		a.Argue(b.call, p.Arguments)
	case "thinking":
		b.thinking.WriteString(p.Thinking)
		b.signature.WriteString(p.Signature)
		a.Count(len(p.Thinking) + len(p.Signature))
		a.Reasons()
	}
}

func (a *answer) end() error {
	if a.reason == "model_context_window_exceeded" {
		return a.Overflow()
	}
	a.Finish = cmp.Or(finishReasons[a.reason], llm.FinishStop)
	return nil
}

// finishReasons are the stop reasons that are not the normal end.
var finishReasons = map[string]string{"max_tokens": llm.FinishLength, "refusal": llm.FinishFilter, "tool_use": llm.FinishToolCalls}

// usage counts cache reads and writes separately from the input.
type usage struct {
	Input   provider.Tokens `json:"input_tokens"`
	Written provider.Tokens `json:"cache_creation_input_tokens"`
	Cached  provider.Tokens `json:"cache_read_input_tokens"`
	Output  provider.Tokens `json:"output_tokens"`
}

// count parses the counts of an event. They are totals, so later ones replace earlier ones.
func (a *answer) count(raw json.RawMessage) {
	u := &a.usage
	// A field of another type leaves the count unchanged.
	_ = json.Unmarshal(raw, u)
	a.Usage = llm.Usage{
		Prompt:     int(u.Input + u.Written + u.Cached),
		Completion: int(u.Output),
		Cached:     int(u.Cached),
		Written:    int(u.Written),
	}
}
