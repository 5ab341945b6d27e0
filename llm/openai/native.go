// What a provider adds to a message in fields of its own: kept unchanged, and sent back only to the
// same model of the same provider.

package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cairn/llm/internal/provider"
)

type native struct {
	Provider string                                `json:"provider"` // host of the server, and the model
	Fields   map[string]json.RawMessage            `json:"fields,omitempty"`
	Calls    map[string]map[string]json.RawMessage `json:"calls,omitempty"` // fields of the tool calls, by id
	Items    []nativeItem                          `json:"items,omitempty"` // of Responses
}

// nativeItem is a reasoning item, which must directly precede what it led to.
type nativeItem struct {
	Calls int             `json:"calls,omitempty"` // how many calls came before it
	Text  bool            `json:"text,omitempty"`  // text came before it
	Item  json.RawMessage `json:"item"`
}

// readNative returns what may be sent back to provider: nothing that another one wrote.
func readNative(raw json.RawMessage, provider string) native {
	if len(raw) == 0 {
		return native{}
	}
	var n native
	if json.Unmarshal(raw, &n) != nil || n.Provider != provider {
		return native{}
	}
	return n
}

// withFields returns a JSON object with more fields behind its own, usually none: that is the object
// itself, because the encoder reads what a MarshalJSON returns once more.
func withFields(object any, more map[string]json.RawMessage) any {
	if len(more) == 0 {
		return object
	}
	return extended{object, more}
}

type extended struct {
	object any
	more   map[string]json.RawMessage
}

// MarshalJSON appends the fields.
func (w extended) MarshalJSON() ([]byte, error) {
	raw, err := provider.Marshal(w.object)
	if err != nil {
		return nil, err
	}
	more, err := provider.Marshal(w.more)
	if err != nil {
		return nil, err
	}
	return slices.Concat(raw[:len(raw)-1], []byte(","), more[1:]), nil
}

// protocolCallFields are the standard fields of a tool call.
var protocolCallFields = map[string]bool{"index": true, "id": true, "type": true, "function": true}

// gathered is a JSON object assembled from the pieces of a stream: prose is concatenated,
// reasoning_details grow item by item, and for everything else the last value wins.
type gathered struct {
	values  map[string]json.RawMessage
	prose   map[string]*strings.Builder
	details []detail
}

// detail is one item of reasoning_details, identified by its index and type.
type detail struct {
	key string
	gathered
}

// proseFields arrive in pieces; signatures and ids arrive complete.
var proseFields = map[string]bool{"reasoning": true, "reasoning_content": true, "text": true, "summary": true}

func (g *gathered) add(field string, raw json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if field == "reasoning_details" {
		var items []map[string]json.RawMessage
		if json.Unmarshal(raw, &items) == nil {
			for _, item := range items {
				g.addDetail(item)
			}
		}
		return
	}
	var text string
	if proseFields[field] && json.Unmarshal(raw, &text) == nil {
		if g.prose == nil {
			g.prose = map[string]*strings.Builder{}
		}
		if g.prose[field] == nil {
			g.prose[field] = &strings.Builder{}
		}
		g.prose[field].WriteString(text)
		return
	}
	if g.values == nil {
		g.values = map[string]json.RawMessage{}
	}
	g.values[field] = raw
}

// maxDetails limits how many items are kept: only a broken server sends more.
const maxDetails = 16_384

func (g *gathered) addDetail(item map[string]json.RawMessage) {
	key := string(item["index"]) + " " + string(item["type"])
	last := len(g.details) - 1
	if _, numbered := item["index"]; last < 0 || !numbered || g.details[last].key != key {
		if len(g.details) == maxDetails {
			return
		}
		g.details = append(g.details, detail{key: key})
		last++
	}
	for field, raw := range item {
		g.details[last].add(field, raw)
	}
}

// object returns the assembled object; nil if it is empty.
func (g gathered) object() map[string]json.RawMessage {
	object := map[string]json.RawMessage{}
	maps.Copy(object, g.values)
	for field, text := range g.prose {
		object[field] = encoded(text.String())
	}
	var items []map[string]json.RawMessage
	for _, item := range g.details {
		items = append(items, item.object())
	}
	if items != nil {
		object["reasoning_details"] = encoded(items)
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

// encoded returns strings, or JSON that was parsed before, as JSON.
func encoded(v any) json.RawMessage {
	raw, _ := json.Marshal(v) // cannot fail
	return raw
}
