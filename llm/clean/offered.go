// What may be a call without special marks, of a tool that is offered.

package clean

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode"

	"cairn/llm"
)

// offered are the tools of a request.
type offered []llm.Tool

// tool returns the tool with a name; nil if it is not offered.
func (o offered) tool(name string) *llm.Tool {
	if at := slices.IndexFunc(o, func(t llm.Tool) bool { return t.Name == name }); at >= 0 {
		return &o[at]
	}
	return nil
}

// mayBePlain reports whether an answer that begins with front may be a call without special marks.
func (o offered) mayBePlain(front string) bool {
	front = strings.TrimLeftFunc(front, unicode.IsSpace)
	if len(o) == 0 || front == "" {
		return false
	}
	switch front[0] {
	case '{':
		return mayBeJSON(front)
	case '[':
		inside := strings.TrimLeftFunc(front[1:], unicode.IsSpace)
		return inside == "" || inside[0] == '{' && mayBeJSON(front) || o.mayBeNamed(inside)
	case '`':
		return o.mayBeCode(front)
	case '<':
		element, _ := o.mayBeElement(front)
		return element
	}
	action, _ := o.mayBeAction(front)
	return action || o.mayBeNamed(front) || agrees(front, functools+"[{")
}

// mayBeJSON reports whether a value that begins with front may be a call or calls as JSON, with no text behind it.
func mayBeJSON(front string) bool {
	key := strings.TrimLeft(front, "[{ \t\r\n")
	if !startsCall(key) {
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

// startsCall reports whether what begins with front may begin with a key of a call.
func startsCall(front string) bool {
	return slices.ContainsFunc(slices.Concat(nameKeys, argumentKeys, otherKeys), func(k string) bool { return agrees(front, `"`+k+`"`) })
}

// agrees reports whether text begins with other, or is its beginning.
func agrees(text, other string) bool {
	return strings.HasPrefix(text, other) || strings.HasPrefix(other, text)
}

// mayBeNamed reports whether a text that begins with front may be calls in the form of a program: lookup(word="tea").
func (o offered) mayBeNamed(front string) bool {
	for _, t := range o {
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

// resultFence begins a block of code with a result: Gemma 3 makes them up.
const resultFence = "```tool_output"

// mayBeCode reports whether a text that begins with front may be a block of code with calls, and nothing behind it.
func (o offered) mayBeCode(front string) bool {
	at := fenceOf().FindStringSubmatch(front)
	if at == nil {
		line, _, ended := strings.Cut(front, "\n")
		return !ended && len(line) < maxRole
	}
	inside, behind, closed := strings.Cut(front[len(at[0]):], "\n"+at[1])
	behind = strings.TrimSpace(behind)
	if closed && behind != "" && behind[0] != '<' && !agrees(behind, resultFence) && !o.mayBePlain(behind) {
		return false
	}
	inside = strings.TrimLeftFunc(inside, unicode.IsSpace)
	if inside == "" || inside[0] == '<' {
		return true
	}
	return inside[0] != '`' && o.mayBePlain(inside)
}
