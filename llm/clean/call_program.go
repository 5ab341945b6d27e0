// Calls in the form of a program, and with the name of the tool before the arguments.

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

var (
	word  = lazy.Pattern(`^[A-Za-z_][\w.:-]*`) // the name of a tool, with what is around it
	ident = lazy.Pattern(`^[A-Za-z_][\w-]*`)
)

// named reads a call that begins with the name of the tool.
func (p *parser) named() bool {
	name := strings.TrimRight(word().FindString(p.rest), ":.-")
	if name == "" {
		return false
	}
	after := p.rest[len(name):]
	solid := strings.TrimLeftFunc(after, unicode.IsSpace)
	offered := p.tools.tool(plainName(name)) != nil
	switch {
	case strings.HasPrefix(after, "("):
		return p.program(name, after[1:])
	case strings.HasPrefix(solid, "<arg_key"), strings.HasPrefix(solid, "<longcat_arg_key"):
		p.marked = true
		arguments, behind := p.tools.arguments(plainName(name), solid)
		p.calls.add(name, encode(arguments))
		p.rest = behind
		return true
	case solid != "" && solid[0] == '{' && (p.marked || offered || strings.HasPrefix(name, "call:")):
		p.marked = p.marked || strings.HasPrefix(name, "call:")
		return p.argumentsOf(name, solid)
	case p.marked && strings.HasPrefix(solid, "```"):
		return p.argumentsOf(name, solid)
	case solid == "":
		if p.marked && len(p.calls) == 0 && offered {
			p.calls.add(name, "")
			p.rest = ""
			return true
		}
		return false
	}
	return opensMark[solid[0]] && p.separated(name, solid)
}

// separated reads arguments behind a mark that separates them from the name: lookup[ARGS]{"word":"tea"}.
func (p *parser) separated(name, rest string) bool {
	m, _ := markAt(rest, true)
	if m.kind != callMark || !p.marked && !strings.HasPrefix(strings.TrimSpace(rest[m.size:]), "{") {
		return false
	}
	p.marked = true
	if m.closes || strings.HasSuffix(m.name, "end") { // without arguments
		p.calls.add(name, "")
		p.rest = rest
		return true
	}
	rest = rest[m.size:]
	if m.name == "call_id" {
		_, rest, _ = strings.Cut(rest, "[ARGS]")
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	if name == "function" && strings.Contains(m.name, "sep") { // DeepSeek V3 says what kind of call it is
		p.rest = rest
		return rest != "" && p.one()
	}
	return p.argumentsOf(name, rest)
}

// argumentsOf reads the arguments of a call, an object that may be in a block of code.
func (p *parser) argumentsOf(name, rest string) bool {
	fenced := false
	if at := fenceOf().FindString(rest); at != "" {
		rest = rest[len(at):]
		fenced = true
	}
	arguments := ""
	if raw, ok := valueAt(rest); ok {
		arguments = unwrapped(raw)
		rest = rest[len(raw):]
	} else {
		value, after, ok := looseValue(rest, 0)
		object, isObject := value.(map[string]any)
		if !ok || !isObject {
			return false
		}
		arguments = encode(object)
		rest = after
	}
	if solid := strings.TrimLeftFunc(rest, unicode.IsSpace); fenced && strings.HasPrefix(solid, "```") {
		rest = solid[3:]
	}
	p.calls.add(name, arguments)
	p.rest = rest
	return true
}

// words reads a list of calls in the form of a program: [lookup(word="tea"), now()].
func (p *parser) words() bool {
	before := *p
	p.rest = p.rest[1:]
	for {
		p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
		if !p.named() {
			*p = before
			return false
		}
		p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
		switch {
		case strings.HasPrefix(p.rest, ","):
			p.rest = p.rest[1:]
		case strings.HasPrefix(p.rest, "]"):
			p.rest = p.rest[1:]
			return true
		default:
			*p = before
			return false
		}
	}
}

// printed reads a call in a call of print, behind its parenthesis, as in the tool_code of Gemma.
func (p *parser) printed(rest string) bool {
	before := *p
	p.rest = rest
	if p.named() {
		if after, ok := strings.CutPrefix(strings.TrimLeftFunc(p.rest, unicode.IsSpace), ")"); ok {
			p.rest = after
			return true
		}
	}
	*p = before
	return false
}

// program reads the arguments of a call behind its parenthesis: word="tea", limit=3). rest is behind the parenthesis.
func (p *parser) program(name, rest string) bool {
	if name == "print" {
		return p.printed(rest)
	}
	arguments := make(map[string]any)
	for {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if after, ok := strings.CutPrefix(rest, ")"); ok {
			p.calls.add(name, encode(arguments))
			p.rest = after
			return true
		}
		key := ident().FindString(rest)
		after := strings.TrimLeftFunc(rest[len(key):], unicode.IsSpace)
		if key == "" || !strings.HasPrefix(after, "=") {
			if value, more, ok := looseValue(rest, 0); ok && len(arguments) == 0 { // lookup({"word": "tea"})
				if object, isObject := value.(map[string]any); isObject && strings.HasPrefix(strings.TrimSpace(more), ")") {
					p.calls.add(name, encode(object))
					_, p.rest, _ = strings.Cut(more, ")")
					return true
				}
			}
			var ok bool
			key, ok = p.tools.onlyArgument(plainName(name))
			if !ok || len(arguments) > 0 {
				return false
			}
			after = "=" + rest
		}
		value, more, ok := looseValue(after[1:], 0)
		if !ok {
			return false
		}
		arguments[key] = value
		rest = strings.TrimLeftFunc(more, unicode.IsSpace)
		if after, ok := strings.CutPrefix(rest, ","); ok {
			rest = after
		} else if !strings.HasPrefix(rest, ")") {
			return false
		}
	}
}
