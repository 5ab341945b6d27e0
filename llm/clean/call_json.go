// Calls as JSON.

package clean

import (
	"encoding/json"
	"io"
	"strings"
)

// The keys of a call, as models write them.
var (
	nameKeys     = []string{"name", "function", "tool", "tool_name", "function_name", "recipient_name", "action"}
	argumentKeys = []string{"arguments", "parameters", "args", "input", "tool_input", "params", "kwargs", "action_input", "tool_arguments"}
	otherKeys    = []string{"id", "type", "index", "tool_call_id", "call_id", "strict", "tool_calls", "tool_uses", "function_call", "thought"}
)

// json reads a call, or an object with several.
func (p *parser) json() bool {
	raw, ok := valueAt(p.rest)
	if !ok && isUnfinished(p.rest) { // small models forget the last braces
		for _, end := range []string{"}", "}}"} {
			all := strings.TrimSpace(p.rest) + end
			if json.Valid([]byte(all)) && p.object([]byte(all)) {
				p.rest = ""
				return true
			}
		}
	}
	if !ok && p.marked {
		return p.looseJSON()
	}
	if !ok || !p.object(raw) {
		return false
	}
	p.rest = p.rest[len(raw):]
	return true
}

// list reads a list of calls.
func (p *parser) list() bool {
	raw, ok := valueAt(p.rest)
	if !ok || !p.array(raw) {
		return false
	}
	p.rest = p.rest[len(raw):]
	return true
}

// object reads a call, or an object around calls.
func (p *parser) object(raw []byte) bool {
	o := objects{tools: p.tools, marked: p.marked, calls: p.calls}
	ok := o.object(raw)
	p.calls = o.calls
	return ok
}

// array reads a list of such objects.
func (p *parser) array(raw []byte) bool {
	o := objects{tools: p.tools, marked: p.marked, calls: p.calls}
	ok := o.array(raw)
	p.calls = o.calls
	return ok
}

// looseJSON reads a call with the quotation marks of Python.
func (p *parser) looseJSON() bool {
	value, rest, _ := looseValue(p.rest, 0)
	fields, ok := value.(map[string]any)
	if !ok || !p.object([]byte(encode(fields))) {
		return false
	}
	p.rest = rest
	return true
}

// isUnfinished reports whether a text is the beginning of a JSON object.
func isUnfinished(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return false
	}
	var value json.RawMessage
	return json.NewDecoder(strings.NewReader(text)).Decode(&value) == io.ErrUnexpectedEOF
}

// valueAt returns the JSON value at the front of a text, with white space before it.
func valueAt(text string) (raw []byte, ok bool) {
	var value json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	return []byte(text[:decoder.InputOffset()]), true
}

// unwrapped returns arguments without the strings around them.
func unwrapped(arguments json.RawMessage) string {
	text := string(arguments)
	for range 2 {
		var inner string
		if json.Unmarshal([]byte(text), &inner) != nil || !strings.HasPrefix(strings.TrimSpace(inner), "{") {
			break
		}
		text = inner
	}
	if text == "null" || text == `""` {
		return "{}"
	}
	return text
}
