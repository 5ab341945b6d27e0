// Assembles an answer on Responses, of messages, calls and reasoning, from the events of a stream.

package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
	"cairn/llm/provider"
)

// maxTexts limits the messages of an answer: only a broken server sends more.
const maxTexts = 1024

// responsesAnswer accumulates events. A stream without the end of a response was cut off.
type responsesAnswer struct {
	*provider.Answer
	author string

	texts  map[int]int // bytes of text that arrived in pieces, by the index of the message
	native []nativeItem
}

type event struct {
	Type      api.ResponseStreamEventType
	Index     int             `json:"output_index"`
	Delta     json.RawMessage // a string in the events that are read
	Arguments provider.Arguments
	Item      json.RawMessage
	Response  finished
	Error     json.RawMessage
}

type item struct {
	Type      string
	CallID    string `json:"call_id"`
	Name      string
	Arguments provider.Arguments
	Content   []struct{ Type, Text, Refusal string }
	Encrypted string `json:"encrypted_content"`
}

// finished contains the parsed fields of a response that has ended.
type finished struct {
	Status  api.ResponseStatus
	Error   json.RawMessage
	Details struct{ Reason string } `json:"incomplete_details"`
	Usage   json.RawMessage
}

func (a *responsesAnswer) Add(raw []byte) (done bool, err error) {
	var e event
	err = json.Unmarshal(raw, &e)
	if e.Type == api.ResponseStreamEventError || provider.Filled(e.Error) {
		return false, llm.Refused(0, nil, raw)
	}
	if err != nil {
		return false, llm.Truncated(err)
	}
	if len(a.texts) > maxTexts {
		return false, llm.TooLong(maxTexts, "texts")
	}
	switch e.Type {
	case api.ResponseStreamEventOutputTextDelta, api.ResponseStreamEventRefusalDelta:
		var piece string
		if err := json.Unmarshal(e.Delta, &piece); err != nil {
			return false, llm.Truncated(err)
		}
		a.texts[e.Index] += len(piece)
		a.Say(piece)
	case api.ResponseStreamEventFunctionArgumentsDelta:
		var piece string
		_ = json.Unmarshal(e.Delta, &piece) // later events have all arguments
		a.Announce(a.Call(e.Index), len(piece))
	case api.ResponseStreamEventFunctionArgumentsDone:
		a.complete(a.Call(e.Index), e.Arguments)
	case api.ResponseStreamEventOutputItemAdded, api.ResponseStreamEventOutputItemDone:
		return false, a.addItem(e.Index, e.Item, e.Type == api.ResponseStreamEventOutputItemDone)
	case api.ResponseStreamEventCompleted, api.ResponseStreamEventIncomplete, api.ResponseStreamEventFailed:
		return true, a.end(e.Response)
	default: // others are not needed, for example the text of reasoning
		if provider.Filled(e.Delta) {
			a.Pass(len(e.Delta))
			a.Reasons()
		}
	}
	return false, nil
}

func (a *responsesAnswer) end(r finished) error {
	readUsage(r.Usage, &a.Usage)
	a.Started = true
	a.Finish = llm.FinishStop
	slices.SortFunc(a.Calls, func(one, other *provider.Call) int { return cmp.Compare(one.Index, other.Index) })
	switch failed := r.Status == api.ResponseStatusFailed || r.Status == api.ResponseStatusCancelled; {
	case failed && !provider.Filled(r.Error):
		return gaveUp
	case failed:
		return llm.Refused(0, nil, append(append([]byte(`{"error":`), r.Error...), '}'))
	case r.Status == api.ResponseStatusIncomplete && r.Details.Reason == "content_filter":
		a.Finish = llm.FinishFilter
	case r.Status == api.ResponseStatusIncomplete:
		a.Finish = llm.FinishLength
	}
	open := func(c *provider.Call) bool { return c.Arguments.Len() == 0 }
	if a.Finish != llm.FinishLength && slices.ContainsFunc(a.Calls, open) { // at the limit the model learns of it
		return llm.Truncated(errors.New("a tool call that is not complete"))
	}
	return nil
}

// Native implements provider.Reader.
func (a *responsesAnswer) Native([]llm.Call) json.RawMessage {
	if len(a.native) == 0 {
		return nil
	}
	return encoded(native{Provider: a.author, Items: a.native})
}

// addItem adds an item that begins, or that is complete: parts that already arrived in pieces are skipped.
func (a *responsesAnswer) addItem(index int, raw json.RawMessage, complete bool) error {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return llm.Truncated(err)
	}
	switch it.Type { // others are not needed
	case "message":
		said := a.texts[index]
		a.texts[index] = said // it is a message, if only an empty one
		for _, part := range it.Content {
			if complete && said == 0 {
				a.texts[index] += len(part.Text) + len(part.Refusal)
				a.Say(part.Text + part.Refusal)
			}
		}
	case "function_call":
		call := a.Call(index)
		a.Begin(call, it.CallID, it.Name, "")
		if complete {
			a.complete(call, it.Arguments)
		}
	case "reasoning":
		a.Reasons()
		a.addReasoning(index, raw, it, complete)
	}
	return nil
}

// complete sets all arguments of a call. Two events have them, but SGLang sends only the first, and the second may lack them.
func (a *responsesAnswer) complete(call *provider.Call, arguments provider.Arguments) {
	if arguments != "" || call.Arguments.Len() == 0 {
		a.Complete(call, cmp.Or(string(arguments), "{}"))
	}
}

// addReasoning keeps an item that the server accepts back: one without content would be looked up, and none is stored.
func (a *responsesAnswer) addReasoning(index int, raw json.RawMessage, it item, complete bool) {
	if !complete || it.Encrypted == "" && len(it.Content) == 0 || len(a.native) == maxDetails {
		return
	}
	a.Count(len(raw))
	kept := nativeItem{Item: slices.Clone(raw)}
	for _, call := range a.Calls {
		if call.Index < index {
			kept.Calls++
		}
	}
	for before := range a.texts {
		kept.Text = kept.Text || before < index
	}
	a.native = append(a.native, kept)
}
