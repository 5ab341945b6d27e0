// Calls of offered tools in forms that also are in other texts: elements with the name of a tool, and lines of ReAct.

package clean

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// elementHead matches the first tag of an element. Its groups: the name, the attributes, / if it is all of the element.
var elementHead = lazy.Pattern(`^<([A-Za-z_][\w.-]*)((?:\s+[\w.-]+\s*=\s*"[^"]*")*)\s*(/?)>`)

// maxElementHead limits the size of such a tag, in bytes.
const maxElementHead = 400

// mayBeElement reports whether a text that begins with front may be an element with a call, and nothing behind it but
// another one: <lookup>{"word": "tea"}</lookup>, <lookup><word>tea</word></lookup> (Cline: its system prompt), <lookup word="tea"/>,
// <tools>{"name": "lookup", …}. head: the first tag is complete.
func (o offered) mayBeElement(front string) (may, head bool) {
	at := elementHead().FindStringSubmatch(front[:min(len(front), maxElementHead)])
	if at == nil {
		name := word().FindString(front[1:])
		behind := front[1+len(name):]
		if behind == "" {
			begins := func(of string) bool { return strings.HasPrefix(of, name) }
			return slices.ContainsFunc(callWrappers, begins) || slices.ContainsFunc(o.names(), begins), false
		}
		return o.tool(name) != nil && len(front) < maxElementHead && strings.ContainsAny(behind[:1], " \t\n/"), false
	}
	name := at[1]
	attributes := at[2]
	alone := at[3] != ""
	behind := front[len(at[0]):]
	if o.tool(name) == nil {
		inside := strings.TrimLeftFunc(behind, unicode.IsSpace)
		isJSON := inside == "" || strings.ContainsAny(inside[:1], "{[") && mayBeJSON(strings.TrimRight(inside, "</>abcdefghijklmnopqrstuvwxyz- \n"))
		return slices.Contains(callWrappers, name) && attributes == "" && !alone && isJSON, true
	}
	after := behind
	closed := alone
	if !alone {
		_, after, closed = strings.Cut(behind, "</"+name+">")
	}
	after = strings.TrimSpace(after)
	return !closed || after == "" || after[0] == '<', true
}

// laterElement holds back what begins like such an element behind some text.
func (b *body) laterElement(in *input) step {
	begins := !b.text.inLine || endsSentence(b.text.solid) || b.text.solid == ':'
	if in.raw[0] != '<' || b.mentions.any || in.textOnly || !begins || b.traits.plainHeld == maxPlainHeld {
		return step{verdict: nothing}
	}
	may, head := in.tools.mayBeElement(in.raw)
	if !head {
		if may && !in.final {
			return step{verdict: unknown}
		}
		return step{verdict: nothing}
	}
	at := elementHead().FindStringSubmatch(in.raw[:min(len(in.raw), maxElementHead)])
	if !slices.Contains(callWrappers, at[1]) && in.tools.tool(at[1]) == nil {
		return step{verdict: nothing}
	}
	return b.laterPlain(in, may)
}

// names returns the names of the tools.
func (o offered) names() (all []string) {
	for _, t := range o {
		all = append(all, t.Name)
	}
	return all
}

// wrapperEnd matches the end of an element around calls, however it is spelt.
var wrapperEnd = lazy.Pattern(`^\s*</[a-z_-]*>?`)

// toolElement reads an element with a call.
func (p *parser) toolElement() bool {
	at := elementHead().FindStringSubmatch(p.rest[:min(len(p.rest), maxElementHead)])
	if at == nil {
		return false
	}
	name := at[1]
	attributes := at[2]
	alone := at[3] != ""
	inside := p.rest[len(at[0]):]
	switch {
	case p.tools.tool(name) != nil && (attributes != "" || alone):
		if !alone {
			empty, behind, closed := strings.Cut(inside, "</"+name+">")
			if !closed || strings.TrimSpace(empty) != "" {
				return false
			}
			inside = behind
		}
		p.calls.add(name, encode(p.tools.attributes(name, attributes)))
		p.rest = inside
		return true
	case p.tools.tool(name) != nil:
		before := p.rest
		value, behind, closed := strings.Cut(inside, "</"+name+">")
		value = strings.TrimSpace(value)
		if !closed && !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "<") {
			return false // a sentence about the tag
		}
		p.rest = behind
		if !p.inElement(name, value) {
			p.rest = before
			return false
		}
		return true
	case !slices.Contains(callWrappers, name):
		return false
	}
	inner := parser{rest: inside, tools: p.tools}
	inner.parse()
	if isUnfinished(inner.rest) {
		inner.salvage(inside)
	}
	if len(inner.calls) == 0 {
		return false
	}
	p.calls = append(p.calls, inner.calls...)
	p.rest = inner.rest[len(wrapperEnd().FindString(inner.rest)):]
	return true
}

// inElement reads the arguments of a call: an object, an element each, or the value of the only one.
func (p *parser) inElement(tool, inside string) bool {
	if inside == "" || inside[0] == '{' {
		value, behind, ok := looseValue(inside, 0)
		if object, isObject := value.(map[string]any); ok && isObject && behind == "" && !json.Valid([]byte(inside)) {
			inside = encode(object)
		}
		p.calls.add(tool, unwrapped(json.RawMessage(inside)))
		return true
	}
	arguments := make(map[string]any)
	if inside[0] == '<' {
		rest := ""
		arguments, rest = p.tools.children(tool, inside)
		if strings.TrimSpace(rest) != "" {
			return false
		}
	} else {
		key, ok := p.tools.onlyArgument(tool)
		if !ok {
			return false
		}
		arguments[key] = p.tools.typed(tool, key, inside)
	}
	p.calls.add(tool, encode(arguments))
	return true
}
