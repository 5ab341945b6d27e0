// A whole answer, put together from the chunks of a stream.

package openai

import (
	"encoding/json"
	"errors"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
)

// answer grows chunk by chunk.
type answer struct {
	show   func(string) // may be nil
	bounds *llm.Bounds

	begun  bool
	text   strings.Builder
	calls  []*growingCall
	native gathered
	finish string
	usage  llm.Usage
}

// growingCall is a tool call whose arguments arrive in pieces.
type growingCall struct {
	index     int // as the server numbers it; -1: it does not
	id, name  string
	arguments strings.Builder
	native    gathered
}

// chunk is the library's, without the usage: a server that counts in a form of its own
// has answered all the same.
type chunk struct {
	api.ChatCompletionStreamResponse
	Usage json.RawMessage `json:"usage"`
}

// rawChunk is what a chunk holds beyond the library's types.
type rawChunk struct {
	Choices []struct {
		Delta map[string]json.RawMessage
	}
}

// add takes one chunk, as the server wrote it.
func (a *answer) add(raw []byte) error {
	var chunk chunk
	var extra rawChunk
	if err := errors.Join(json.Unmarshal(raw, &chunk), json.Unmarshal(raw, &extra)); err != nil {
		return llm.Truncated(err)
	}
	if counted, ok := readUsage(chunk.Usage); ok {
		a.usage = counted
	}
	for i, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.begun = true
		if err := a.addDelta(choice.Delta, extra.Choices[i].Delta); err != nil {
			return err
		}
		if choice.FinishReason == "error" {
			return &llm.Error{Kind: llm.KindOverloaded, Message: "the server gave up in the middle of its answer"}
		}
		if choice.FinishReason != "" {
			a.finish = string(choice.FinishReason)
		}
	}
	return nil
}

func (a *answer) addDelta(delta api.ChatCompletionStreamChoiceDelta, raw map[string]json.RawMessage) error {
	text := strings.ReplaceAll(delta.Content+delta.Refusal, "\x00", "") // a refusal is what the model says
	said, added := len(text), 0
	for _, field := range nativeFields {
		added += len(raw[field])
		a.native.add(field, raw[field])
	}
	var extras []map[string]json.RawMessage
	if len(delta.ToolCalls) > 0 {
		if err := json.Unmarshal(raw["tool_calls"], &extras); err != nil {
			return llm.Truncated(err)
		}
	}
	if len(extras) != len(delta.ToolCalls) { // one field under two spellings
		return llm.Truncated(errors.New("tool calls that contradict each other"))
	}
	for i, piece := range delta.ToolCalls {
		call := a.call(piece)
		if len(a.calls) > llm.MaxCalls {
			return llm.TooMany(llm.MaxCalls, "tool calls")
		}
		if len(piece.Function.Name) > llm.MaxName {
			return llm.TooMany(llm.MaxName, "bytes in the name of a tool")
		}
		said += len(piece.ID) + len(piece.Function.Name) + len(piece.Function.Arguments)
		if call.id == "" {
			call.id = piece.ID
		}
		if call.name == "" {
			call.name = piece.Function.Name
		}
		call.arguments.WriteString(piece.Function.Arguments)
		for field, value := range extras[i] {
			if !protocolCallFields[field] {
				added += len(value)
				call.native.add(field, value)
			}
		}
	}
	if err := errors.Join(a.bounds.Said(said), a.bounds.Added(added)); err != nil {
		return err
	}
	a.text.WriteString(text)
	if a.show != nil && text != "" {
		a.show(text)
	}
	return nil
}

// call finds the call a piece belongs to, or begins one. Some servers leave out
// the index, some the id, and some give every call the index 0.
func (a *answer) call(piece api.ToolCall) *growingCall {
	begins := piece.Function.Name != ""
	for i := len(a.calls) - 1; i >= 0; i-- {
		call := a.calls[i]
		another := begins && piece.ID != "" && call.id != "" && piece.ID != call.id
		switch {
		case piece.Index != nil:
			if call.index == *piece.Index && !another {
				return call
			}
		case piece.ID != "":
			if call.id == piece.ID {
				return call
			}
		case !begins:
			return call
		}
	}
	call := &growingCall{index: -1}
	if piece.Index != nil {
		call.index = *piece.Index
	}
	a.calls = append(a.calls, call)
	return call
}

// response returns the whole answer, as the server at provider gave it. A server
// that ends in good order without a finish_reason is believed to have finished.
func (a *answer) response(provider string) (llm.Response, error) {
	if !a.begun {
		return llm.Response{}, llm.Truncated(errors.New("there was nothing in it"))
	}
	message := llm.Message{Role: llm.RoleAssistant, Text: a.text.String()}
	for _, call := range a.calls {
		if call.name == "" {
			return llm.Response{}, llm.Truncated(errors.New("a tool call without a name"))
		}
		message.Calls = append(message.Calls, llm.Call{ID: call.id, Name: call.name, Arguments: call.arguments.String()})
	}
	llm.NameCalls(message.Calls) // what the provider added to a call is found by its id
	var err error
	if message.Native, err = a.nativeOf(message.Calls, provider); err != nil {
		return llm.Response{}, llm.Truncated(err)
	}
	if a.finish == "" {
		a.finish = llm.FinishStop
		if len(message.Calls) > 0 {
			a.finish = llm.FinishToolCalls
		}
	}
	return llm.Response{Message: message, FinishReason: a.finish, Usage: a.usage}, nil
}

// nativeOf returns what the provider added, nil when that is nothing.
func (a *answer) nativeOf(calls []llm.Call, provider string) (json.RawMessage, error) {
	fields, err := a.native.object()
	if err != nil {
		return nil, err
	}
	n := native{Provider: provider, Fields: fields}
	for i, call := range a.calls {
		extra, err := call.native.object()
		if err != nil {
			return nil, err
		}
		if extra == nil {
			continue
		}
		if n.Calls == nil {
			n.Calls = map[string]map[string]json.RawMessage{}
		}
		n.Calls[calls[i].ID] = extra
	}
	if n.Fields == nil && n.Calls == nil {
		return nil, nil
	}
	return json.Marshal(n)
}
