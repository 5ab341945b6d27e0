// The items of an answer on Responses: messages, calls and reasoning.

package openai

import (
	"encoding/json"
	"slices"

	"cairn/llm"
)

// item returns the item with an index; it adds one if there is none.
func (a *responsesAnswer) item(index int) *outputItem {
	at, found := slices.BinarySearchFunc(a.items, index, func(i *outputItem, index int) int { return i.index - index })
	if !found {
		if len(a.items) >= 2*llm.MaxCalls {
			a.Exceed(llm.TooMany(2*llm.MaxCalls, "messages and calls"))
		}
		a.items = slices.Insert(a.items, at, &outputItem{index: index})
	}
	return a.items[at]
}

// addItem adds an item that begins, with the id and name of a call, or that is complete: parts that
// already arrived in pieces are skipped.
func (a *responsesAnswer) addItem(index int, raw json.RawMessage, complete bool) error {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return llm.Truncated(err)
	}
	switch it.Type {
	case "message":
		m := a.item(index)
		m.message = true
		if !complete || m.said > 0 {
			return nil
		}
		for _, part := range it.Content {
			m.said += len(part.Text) + len(part.Refusal)
			a.Say(part.Text + part.Refusal)
		}
	case "function_call":
		call := a.item(index)
		if call.Name == "" {
			a.Begin(&call.Call, it.CallID, it.Name, "")
		}
		if complete {
			a.setArguments(call, it.Arguments)
		}
	case "reasoning":
		a.addReasoning(index, raw, it, complete)
	default:
		a.CountOther(len(raw))
	}
	return nil
}

// setArguments sets the complete arguments of a call, which are right even if the pieces are not.
func (a *responsesAnswer) setArguments(call *outputItem, arguments string) {
	if arguments == "" || call.Arguments.String() == arguments {
		return
	}
	a.Count(max(len(arguments)-call.Arguments.Len(), 0))
	call.Arguments.Reset()
	call.Arguments.WriteString(arguments)
}

// addReasoning keeps an item that the server will accept back: one without content would be looked
// up among stored items, and nothing is stored.
func (a *responsesAnswer) addReasoning(index int, raw json.RawMessage, it item, complete bool) {
	a.CountOther(len(raw))
	if !complete || it.Encrypted == "" && len(it.Content) == 0 || len(a.native) == maxDetails {
		return
	}
	kept := nativeItem{Item: slices.Clone(raw)}
	for _, before := range a.items {
		if before.index < index && before.message {
			kept.Text = true
		} else if before.index < index {
			kept.Calls++
		}
	}
	a.native = append(a.native, kept)
}
