// A whole answer, put together from the chunks of a stream.

package llm

import (
	"encoding/json"
	"errors"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// answer grows chunk by chunk.
type answer struct {
	show     func(string) // may be nil
	maxBytes int
	maxSaid  int // bytes of text and arguments, which are tokens of the answer

	bytes  int // taken so far
	said   int // of them text and arguments
	begun  bool
	text   strings.Builder
	calls  []*growingCall
	native gathered
	finish string
	usage  Usage
}

// growingCall is a tool call whose arguments arrive in pieces.
type growingCall struct {
	index     int // as the server numbers it; -1: it does not
	id, name  string
	arguments strings.Builder
	native    gathered
}

// maxCalls is how many tools one answer may call: OpenAI's servers know 128 tools.
const maxCalls = 128

// maxName is how long the name of a tool may be, in bytes: servers know 64 characters.
const maxName = 1 << 10

// leastSaid and bytesPerToken bound what an answer says by the tokens it was allowed.
// A token has 4 to 5 bytes in most languages; what is meant well stays below.
const (
	leastSaid     = 64 << 10 // bytes that are always taken
	bytesPerToken = 32
)

// mostSaid is how many bytes of text and arguments an answer of at most so many tokens
// may have; 0 tokens: nobody set a bound.
func mostSaid(tokens, maxBytes int) int {
	if tokens <= 0 || tokens > maxBytes/bytesPerToken {
		return maxBytes
	}
	return min(max(leastSaid, tokens*bytesPerToken), maxBytes)
}

// chunk is the library's, without the usage: a server that counts in a form of its own
// has answered all the same.
type chunk struct {
	openai.ChatCompletionStreamResponse
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
		return brokenOff(err)
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
			return &Error{Kind: KindOverloaded, Message: "the server gave up in the middle of its answer"}
		}
		if choice.FinishReason != "" {
			a.finish = string(choice.FinishReason)
		}
	}
	return nil
}

func (a *answer) addDelta(delta openai.ChatCompletionStreamChoiceDelta, raw map[string]json.RawMessage) error {
	text := strings.ReplaceAll(delta.Content+delta.Refusal, "\x00", "") // a refusal is what the model says
	a.bytes += len(text)
	a.said += len(text)
	for _, field := range nativeFields {
		a.bytes += len(raw[field])
		a.native.add(field, raw[field])
	}
	var extras []map[string]json.RawMessage
	if len(delta.ToolCalls) > 0 {
		if err := json.Unmarshal(raw["tool_calls"], &extras); err != nil {
			return brokenOff(err)
		}
	}
	if len(extras) != len(delta.ToolCalls) { // one field under two spellings
		return brokenOff(errors.New("tool calls that contradict each other"))
	}
	for i, piece := range delta.ToolCalls {
		call := a.call(piece)
		if len(a.calls) > maxCalls {
			return tooMany(maxCalls, "tool calls")
		}
		if len(piece.Function.Name) > maxName {
			return tooMany(maxName, "bytes in the name of a tool")
		}
		a.bytes += len(piece.ID) + len(piece.Function.Name)
		a.said += len(piece.ID) + len(piece.Function.Name)
		if call.id == "" {
			call.id = piece.ID
		}
		if call.name == "" {
			call.name = piece.Function.Name
		}
		call.arguments.WriteString(piece.Function.Arguments)
		a.bytes += len(piece.Function.Arguments)
		a.said += len(piece.Function.Arguments)
		for field, value := range extras[i] {
			if !protocolCallFields[field] {
				a.bytes += len(value)
				call.native.add(field, value)
			}
		}
	}
	switch {
	case a.bytes > a.maxBytes:
		return tooLong(a.maxBytes)
	case a.said > a.maxSaid:
		return tooLong(a.maxSaid)
	}
	a.text.WriteString(text)
	if a.show != nil && text != "" {
		a.show(text)
	}
	return nil
}

// call finds the call a piece belongs to, or begins one. Some servers leave out
// the index, some the id, and some give every call the index 0.
func (a *answer) call(piece openai.ToolCall) *growingCall {
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
func (a *answer) response(provider string) (Response, error) {
	if !a.begun {
		return Response{}, brokenOff(errors.New("there was nothing in it"))
	}
	message := Message{Role: RoleAssistant, Text: a.text.String()}
	for _, call := range a.calls {
		if call.name == "" {
			return Response{}, brokenOff(errors.New("a tool call without a name"))
		}
		message.Calls = append(message.Calls, Call{ID: call.id, Name: call.name, Arguments: call.arguments.String()})
	}
	nameCalls(message.Calls) // what the provider added to a call is found by its id
	var err error
	if message.Native, err = a.nativeOf(message.Calls, provider); err != nil {
		return Response{}, brokenOff(err)
	}
	if a.finish == "" {
		a.finish = FinishStop
		if len(message.Calls) > 0 {
			a.finish = FinishToolCalls
		}
	}
	return Response{Message: message, FinishReason: a.finish, Usage: a.usage}, nil
}

// nativeOf returns what the provider added, nil when that is nothing.
func (a *answer) nativeOf(calls []Call, provider string) (json.RawMessage, error) {
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
