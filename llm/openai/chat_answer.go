// Assembles an answer on chat completions from the chunks of a stream; reads token counts in whatever
// format a server sends them.

package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// chatAnswer accumulates chunks. It is complete with [DONE], or if a finish_reason was received and
// the body ended regularly: some servers never send [DONE], but none sends a reason before it has
// finished.
type chatAnswer struct {
	provider.Said
	provider string

	started bool
	calls   []*growingCall
	native  gathered
	finish  string
	usage   llm.Usage
}

// growingCall is a tool call whose arguments arrive in pieces.
type growingCall struct {
	provider.Call
	index  int // the server's number; -1: none
	native gathered
}

// chunk is an event of the stream, or an answer in one piece. The usage is raw: a server with its
// own format of counts has answered nevertheless.
type chunk struct {
	Error   json.RawMessage
	Choices []struct {
		Index        int
		Delta        delta
		Message      delta
		FinishReason string `json:"finish_reason"`
	}
	Usage json.RawMessage
}

// delta is a piece of a message, or all of it.
type delta struct {
	Content   text
	Refusal   string            // the model's own words
	ToolCalls []json.RawMessage `json:"tool_calls"`

	// Kept for the provider. Other fields may be allowed in answers only, and refused in a request.
	Reasoning        json.RawMessage
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ExtraContent     json.RawMessage `json:"extra_content"`
}

// text is a string, or the text of a list of parts.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(t))
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			*t += text(part.Text)
		}
	}
	return nil
}

func (a *chatAnswer) Complete() bool { return a.finish != "" }

func (a *chatAnswer) Whole(body []byte) (bool, error) {
	var completion struct{ Choices []json.RawMessage }
	if json.Unmarshal(body, &completion) != nil || completion.Choices == nil {
		return false, nil
	}
	_, err := a.Add(body)
	return true, err
}

func (a *chatAnswer) Counted() llm.Usage { return a.usage }

// Add never returns done: the usage follows the finish_reason.
func (a *chatAnswer) Add(event []byte) (bool, error) {
	var c chunk
	err := json.Unmarshal(event, &c)
	if provider.IsError(c.Error) {
		return false, llm.Refused(0, nil, event)
	}
	if err != nil {
		return false, llm.Truncated(err)
	}
	if counted, ok := readUsage(c.Usage); ok {
		a.usage = counted
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		a.started = true
		for _, d := range []delta{choice.Delta, choice.Message} {
			if err := a.addDelta(d); err != nil {
				return false, err
			}
		}
		switch reason := strings.ToLower(choice.FinishReason); {
		case reason == "":
		case strings.Contains(reason, "error"), reason == "insufficient_system_resource": // OpenRouter, DeepSeek
			return false, &llm.Error{Kind: llm.KindOverloaded, Message: "the server gave up in the middle of its answer"}
		case strings.Contains(reason, "length"), reason == "max_tokens":
			a.finish = llm.FinishLength
		case strings.Contains(reason, "filter"), slices.Contains([]string{"safety", "recitation", "prohibited_content", "sensitive"}, reason): // Gemini, Zhipu
			a.finish = llm.FinishFilter
		default:
			a.finish = reason
		}
	}
	return false, nil
}

func (a *chatAnswer) addDelta(d delta) error {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"reasoning", d.Reasoning},
		{"reasoning_content", d.ReasoningContent},
		{"reasoning_details", d.ReasoningDetails},
		{"extra_content", d.ExtraContent},
	} {
		a.CountOther(len(f.raw))
		a.native.add(f.name, f.raw)
	}
	for _, raw := range d.ToolCalls {
		if err := a.addCall(raw); err != nil {
			return err
		}
	}
	a.Say(string(d.Content) + d.Refusal)
	return nil
}

// callPiece is a piece of a tool call.
type callPiece struct {
	Index    *int
	ID       string
	Function struct {
		Name, Arguments string
	}
}

func (a *chatAnswer) addCall(raw json.RawMessage) error {
	var piece callPiece
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &piece), json.Unmarshal(raw, &fields)); err != nil {
		return llm.Truncated(err)
	}
	call := a.call(piece)
	if len(a.calls) > llm.MaxCalls {
		a.Exceed(llm.TooMany(llm.MaxCalls, "tool calls"))
	}
	a.Begin(&call.Call, piece.ID, piece.Function.Name, piece.Function.Arguments)
	for field, value := range fields {
		if protocolCallFields[field] {
			continue
		}
		a.CountOther(len(value))
		call.native.add(field, value)
	}
	return nil
}

// call returns the call that a piece belongs to, or starts one: a piece continues the latest call of
// its index. Some servers omit the index, or give every call the index 0.
func (a *chatAnswer) call(piece callPiece) *growingCall {
	index := -1
	if piece.Index != nil {
		index = *piece.Index
	}
	for _, before := range slices.Backward(a.calls) {
		if index < 0 || before.index == index {
			if before.continuedBy(piece) {
				return before
			}
			break
		}
	}
	call := &growingCall{index: index}
	a.calls = append(a.calls, call)
	return call
}

// continuedBy reports whether a piece continues the call rather than beginning another. Some servers
// omit the id, some give each piece another one, and some repeat the name.
func (c *growingCall) continuedBy(piece callPiece) bool {
	switch {
	case piece.Function.Name == "" || c.Name == "":
		return true
	case piece.ID != "":
		return c.ID == "" || piece.ID == c.ID
	}
	ended := strings.HasSuffix(c.Arguments.String(), "}") && strings.HasPrefix(piece.Function.Arguments, "{")
	return piece.Function.Name == c.Name && !ended
}

// Response returns the whole answer. A server that ends regularly without a finish_reason is
// assumed to have finished.
func (a *chatAnswer) Response() (llm.Response, error) {
	if !a.started {
		return llm.Response{}, llm.Truncated(errors.New("there was nothing in it"))
	}
	message, err := a.Message(func(yield func(*provider.Call) bool) {
		for _, call := range a.calls {
			if !yield(&call.Call) {
				return
			}
		}
	})
	if err != nil {
		return llm.Response{}, err
	}
	message.Native = a.nativeOf(message.Calls)
	if a.finish == "" {
		a.finish = llm.FinishStop
		if len(message.Calls) > 0 {
			a.finish = llm.FinishToolCalls
		}
	}
	return llm.Response{Message: message, FinishReason: a.finish, Usage: a.usage}, nil
}

// nativeOf returns what the provider added; nil if nothing.
func (a *chatAnswer) nativeOf(calls []llm.Call) json.RawMessage {
	n := native{Provider: a.provider, Fields: a.native.object()}
	for i, call := range a.calls {
		extra := call.native.object()
		if extra == nil {
			continue
		}
		if n.Calls == nil {
			n.Calls = map[string]map[string]json.RawMessage{}
		}
		n.Calls[calls[i].ID] = extra
	}
	if n.Fields == nil && n.Calls == nil {
		return nil
	}
	return encoded(n)
}
