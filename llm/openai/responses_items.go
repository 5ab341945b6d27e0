// The items of an answer on Responses: messages, calls and reasoning.

package openai

import (
	"encoding/json"
	"slices"

	"cairn/llm"
)

// item returns the item with an index; it adds one if there is none.
func (a *responsesAnswer) item(index int) (*outputItem, error) {
	at, found := slices.BinarySearchFunc(a.items, index, func(i *outputItem, index int) int { return i.index - index })
	if found {
		return a.items[at], nil
	}
	if len(a.items) >= 2*llm.MaxCalls {
		return nil, llm.TooMany(2*llm.MaxCalls, "messages and calls")
	}
	a.items = slices.Insert(a.items, at, &outputItem{index: index})
	return a.items[at], nil
}

// beginItem records the id and name of a call, and counts everything else towards the limits.
func (a *responsesAnswer) beginItem(index int, raw json.RawMessage) error {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return llm.Truncated(err)
	}
	if it.Type != "function_call" {
		return a.Bounds.Added(len(raw))
	}
	return a.beginCall(index, it)
}

func (a *responsesAnswer) beginCall(index int, it item) error {
	call, err := a.item(index)
	if err != nil {
		return err
	}
	if call.Name != "" {
		return nil
	}
	return a.Begin(&call.Call, it.CallID, it.Name, "")
}

// addItem adds a complete item: parts that already arrived in pieces are skipped.
func (a *responsesAnswer) addItem(index int, raw json.RawMessage) error {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return llm.Truncated(err)
	}
	switch it.Type {
	case "message":
		m, err := a.item(index)
		if err != nil {
			return err
		}
		m.message = true
		if m.said > 0 {
			return nil
		}
		for _, part := range it.Content {
			m.said += len(part.Text) + len(part.Refusal)
			if err := a.Say(part.Text + part.Refusal); err != nil {
				return err
			}
		}
		return nil
	case "function_call":
		if err := a.beginCall(index, it); err != nil {
			return err
		}
		call, err := a.item(index)
		if err != nil {
			return err
		}
		return a.setArguments(call, it.Arguments)
	case "reasoning":
		return a.addReasoning(index, raw, it)
	}
	return a.Bounds.Added(len(raw))
}

// setArguments sets the complete arguments of a call, which are right even if the pieces are not.
func (a *responsesAnswer) setArguments(call *outputItem, arguments string) error {
	before := call.Arguments.Len()
	if arguments == "" || call.Arguments.String() == arguments {
		return nil
	}
	if err := a.Bounds.Said(max(len(arguments)-before, 0)); err != nil {
		return err
	}
	call.Arguments.Reset()
	call.Arguments.WriteString(arguments)
	return nil
}

// addReasoning keeps an item that the server will accept back: one without content would be looked
// up among stored items, and nothing is stored.
func (a *responsesAnswer) addReasoning(index int, raw json.RawMessage, it item) error {
	if it.Encrypted == "" && len(it.Content) == 0 {
		return a.Bounds.Added(len(raw))
	}
	if len(a.native) == maxDetails {
		return nil
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
	return a.Bounds.Added(len(raw))
}
