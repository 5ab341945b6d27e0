// What a provider adds to a message in fields of its own: sent back unchanged, only to the same model and provider.

package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"cairn/llm/provider"
)

type native struct {
	Provider string                     `json:"provider"` // host of the server, and the model
	Fields   json.RawMessage            `json:"fields,omitempty"`
	Calls    map[string]json.RawMessage `json:"calls,omitempty"` // fields of the tool calls, by id
	Items    []nativeItem               `json:"items,omitempty"` // of Responses
}

// nativeItem is a reasoning item, which must directly precede what it led to.
type nativeItem struct {
	Calls int             `json:"calls,omitempty"` // how many calls came before it
	Text  bool            `json:"text,omitempty"`  // text came before it
	Item  json.RawMessage `json:"item"`
}

// readNative returns what may be sent back to provider: nothing that another one wrote.
func readNative(raw json.RawMessage, provider string) (n native) {
	if len(raw) == 0 || json.Unmarshal(raw, &n) != nil || n.Provider != provider {
		return native{}
	}
	return n
}

// withFields returns a JSON object with the fields of another one, if any, behind its own. Without them it is the
// object itself, because the encoder reads what a MarshalJSON returns once more.
func withFields(object any, more json.RawMessage) any {
	if len(more) == 0 {
		return object
	}
	return extended{object, more}
}

type extended struct {
	object any
	more   json.RawMessage
}

// MarshalJSON appends the fields.
func (e extended) MarshalJSON() ([]byte, error) {
	raw, err := provider.Marshal(e.object)
	if err != nil {
		return nil, err
	}
	return slices.Concat(raw[:len(raw)-1], []byte(","), e.more[1:]), nil
}

// gathered is a JSON object assembled from the pieces of a stream: prose is concatenated, reasoning_details grow item
// by item, and for everything else the last value wins.
type gathered struct {
	key    string         // of an item of reasoning_details: its index and type
	fields map[string]any // each a json.RawMessage, *prose or []*gathered
}

// MarshalJSON returns the object so far.
func (g *gathered) MarshalJSON() ([]byte, error) { return json.Marshal(g.fields) }

// object returns the object so far; nil if it is empty.
func (g *gathered) object() json.RawMessage {
	if g == nil || len(g.fields) == 0 {
		return nil
	}
	return encoded(g)
}

type prose struct{ strings.Builder }

// MarshalText returns the text so far.
func (p *prose) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// proseFields arrive in pieces; signatures and ids arrive complete.
var proseFields = []string{"reasoning", "reasoning_content", "text", "summary"}

func (g *gathered) add(field string, raw json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if g.fields == nil {
		g.fields = map[string]any{}
	}
	var text string
	var items []map[string]json.RawMessage
	switch {
	case field == "reasoning_details":
		list, _ := g.fields[field].([]*gathered)
		if json.Unmarshal(raw, &items) == nil && len(items) > 0 {
			g.fields[field] = addDetails(list, items)
		}
	case slices.Contains(proseFields, field) && json.Unmarshal(raw, &text) == nil:
		so, ok := g.fields[field].(*prose)
		if !ok {
			so = &prose{}
			g.fields[field] = so
		}
		so.WriteString(text)
	default:
		g.fields[field] = raw
	}
}

// maxDetails limits how many items are kept: only a broken server sends more.
const maxDetails = 16_384

// addDetails adds items, or pieces of the last one, which have its index and type.
func addDetails(list []*gathered, items []map[string]json.RawMessage) []*gathered {
	for _, item := range items {
		key := string(item["index"]) + " " + string(item["type"])
		last := len(list) - 1
		if _, numbered := item["index"]; last < 0 || !numbered || list[last].key != key {
			if len(list) == maxDetails {
				continue
			}
			list = append(list, &gathered{key: key})
			last++
		}
		for field, raw := range item {
			list[last].add(field, raw)
		}
	}
	return list
}

// encoded returns strings, or JSON that was parsed before, as JSON.
func encoded(v any) json.RawMessage {
	raw, _ := json.Marshal(v) // cannot fail
	return raw
}
