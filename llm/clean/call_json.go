// Calls as JSON.

package clean

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode"
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
			whole := strings.TrimSpace(p.rest) + end
			if json.Valid([]byte(whole)) && p.object([]byte(whole)) {
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

func (p *parser) array(raw []byte) bool {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return false
	}
	for _, one := range all {
		if !p.object(one) {
			return false
		}
	}
	return true
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

// object reads a call, or an object around calls.
func (p *parser) object(raw []byte) bool {
	const most = 4 // objects in each other
	p.inside++
	defer func() { p.inside-- }()
	var fields map[string]json.RawMessage
	if p.inside > most || json.Unmarshal(raw, &fields) != nil {
		return false
	}
	for _, key := range []string{"tool_calls", "tool_uses", "function_call"} {
		if inner := bytes.TrimSpace(fields[key]); len(inner) > 0 {
			return inner[0] == '[' && p.array(inner) || inner[0] == '{' && p.object(inner)
		}
	}
	if inner := bytes.TrimSpace(fields["function"]); len(inner) > 0 && inner[0] == '{' {
		return p.object(inner)
	}
	name, arguments := "", json.RawMessage(nil)
	for key, value := range fields {
		switch {
		case slices.Contains(argumentKeys, key):
			arguments = value
		case slices.Contains(nameKeys, key):
			var written string
			if json.Unmarshal(value, &written) == nil && (name == "" || key == "name") {
				name = written
			}
		case !slices.Contains(otherKeys, key):
			return p.keyed(fields)
		}
	}
	if name == "" || arguments == nil && !p.marked {
		return false
	}
	p.add(name, unwrapped(arguments))
	return true
}

// keyed reads calls whose keys are the names of tools: {"lookup": {"word": "tea"}} (Apertus).
func (p *parser) keyed(fields map[string]json.RawMessage) bool {
	for name, arguments := range fields {
		if !p.marked || p.tool(name) == nil || !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
			return false
		}
	}
	for _, t := range p.tools {
		if arguments, ok := fields[t.Name]; ok {
			p.add(t.Name, string(arguments))
		}
	}
	return true
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

// mayBePlain reports whether an answer that begins with front may be a call without special marks.
func (f *Filter) mayBePlain(front string) bool {
	front = strings.TrimLeftFunc(front, unicode.IsSpace)
	if len(f.Tools) == 0 || front == "" {
		return false
	}
	switch front[0] {
	case '{':
		return f.mayBeJSON(front)
	case '[':
		inside := strings.TrimLeftFunc(front[1:], unicode.IsSpace)
		return inside == "" || inside[0] == '{' && f.mayBeJSON(front) || f.mayBeNamed(inside)
	case '`':
		return f.mayBeCode(front)
	}
	return f.mayBeNamed(front) || agrees(front, functools+"[{")
}

// mayBeJSON reports whether a value that begins with front may be a call or calls as JSON, with no text behind it.
func (f *Filter) mayBeJSON(front string) bool {
	key := strings.TrimLeft(front, "[{ \t\r\n")
	known := slices.ContainsFunc(slices.Concat(nameKeys, argumentKeys, otherKeys), func(k string) bool { return agrees(key, `"`+k+`"`) })
	if !known {
		return false
	}
	front = strings.TrimRightFunc(front, unicode.IsSpace) // as at the end of the answer, see isUnfinished
	decoder := json.NewDecoder(strings.NewReader(front))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return err == io.ErrUnexpectedEOF
	}
	behind := strings.TrimLeftFunc(front[decoder.InputOffset():], unicode.IsSpace)
	return behind == "" || strings.ContainsAny(behind[:1], "{[<,;`]")
}

// agrees reports whether text begins with whole, or is its beginning.
func agrees(text, whole string) bool {
	return strings.HasPrefix(text, whole) || strings.HasPrefix(whole, text)
}

// mayBeNamed reports whether a text that begins with front may be calls in the form of a program: lookup(word="tea").
func (f *Filter) mayBeNamed(front string) bool {
	for _, t := range f.Tools {
		for _, before := range []string{"", "functions.", "default_api.", "print(", "print(default_api.", "call:"} {
			name := before + t.Name
			if !agrees(front, name) {
				continue
			}
			behind := strings.TrimLeft(front[min(len(front), len(name)):], " \n")
			if behind == "" || strings.ContainsAny(behind[:1], "([{:.<") {
				return true
			}
		}
	}
	return false
}

// mayBeCode reports whether a text that begins with front may be a block of code with calls, and nothing behind it.
func (f *Filter) mayBeCode(front string) bool {
	at := fenceOf().FindStringSubmatch(front)
	if at == nil {
		line, _, whole := strings.Cut(front, "\n")
		return !whole && len(line) < maxRole
	}
	inside, behind, closed := strings.Cut(front[len(at[0]):], "\n"+at[1])
	if behind = strings.TrimSpace(behind); closed && behind != "" && behind[0] != '<' && !f.mayBePlain(behind) {
		return false
	}
	inside = strings.TrimLeftFunc(inside, unicode.IsSpace)
	if inside == "" || inside[0] == '<' {
		return true
	}
	return inside[0] != '`' && f.mayBePlain(inside)
}
