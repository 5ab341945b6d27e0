// Calls as markup: an element for the call, and one for each argument, whose values are texts without types.

package clean

import (
	"html"
	"strings"

	"cairn/internal/lazy"
)

// minimax stands before each tag of MiniMax M3.
const minimax = "]<]minimax[>["

// markup reads what a mark of calls begins.
func (p *parser) markup(m mark) bool {
	text := p.rest[:m.size]
	switch {
	case m.closes, text == minimax:
	case strings.Contains(text, "="): // <function=lookup>, <|open|>call tool="lookup"<|sep|>
		return p.element(text, m.size)
	case m.open: // <invoke name="lookup">
		end := strings.Index(p.rest, ">") + 1
		if end == 0 {
			return false
		}
		return p.element(p.rest[:end], end)
	}
	p.rest = p.rest[m.size:]
	return true
}

var (
	// elementName matches the name of the tool in the mark that begins a call.
	elementName = lazy.Pattern(`(?:function=|name=|tool=)["']?([^"'>\s]+)`)

	// argumentMark matches the mark that begins an argument, in all forms: <parameter=word>, <parameter name="word">,
	// <｜DSML｜parameter name="word" string="true">, <|open|>argument key="word" type="string"<|sep|>, <arg_key>word</arg_key>.
	// Its groups: the name, by form.
	argumentMark = lazy.Pattern(`^(?:<(?:[\w:｜|‖]*[:｜|‖])?param(?:eter)?(?:=|\s+name=)["']?([^"'>\s]+)["']?([^>]*)>|` +
		`<\|open\|>\s*argument\s+key="([^"]*)"([^<]*)<\|sep\|>|<(?:longcat_)?arg_key(?::\w+)?>\s*([^<]*?)\s*</(?:longcat_)?arg_key(?::\w+)?>\s*<(?:longcat_)?arg_value(?::\w+)?>)`)

	// argumentEnd matches the mark that ends an argument, or begins the next or ends the call if that is missing.
	argumentEnd = lazy.Pattern(`</(?:[\w:｜|‖]*[:｜|‖])?param(?:eter)?>|<\|close\|>\s*argument\s*<\|sep\|>|</(?:longcat_)?arg_value(?::\w+)?>|` +
		`<parameter=|</function>|</tool_call>|</(?:[\w:｜|‖]*[:｜|‖])?invoke>`)

	// elementEnd matches the mark that ends a call, or begins the next.
	elementEnd = lazy.Pattern(`^(?:</function>|</(?:[\w:｜|‖]*[:｜|‖])?invoke>|<\|close\|>\s*call\s*<\|sep\|>|</tool_call(?::\w+)?>|<function=|<tool_call>)`)

	// childElement matches the first mark of an argument that is an element of its own: <city>Paris</city>.
	childElement = lazy.Pattern(`^\s*<([A-Za-z_][\w.-]*)>`)
)

// element reads a call whose first mark, of size bytes, has the name of the tool.
func (p *parser) element(first string, size int) bool {
	at := elementName().FindStringSubmatch(first)
	if at == nil {
		return false
	}
	p.rest = p.rest[size:]
	name := plainName(at[1])
	body := strings.TrimSpace(p.rest)
	if strings.HasPrefix(body, "{") {
		if raw, ok := valueAt(body); ok {
			p.add(name, string(raw))
			p.rest = body[len(raw):]
			p.close()
			return true
		}
	}
	p.rest = body
	arguments := p.arguments(name)
	if len(arguments) == 0 {
		arguments = p.children(name)
	}
	if rest := strings.TrimSpace(p.rest); len(arguments) == 0 && rest != "" && !elementEnd().MatchString(rest) {
		return false
	}
	p.add(name, encode(arguments))
	p.close()
	return true
}

// nestedCall matches a call whose name is an element of its own: <name>lookup</name><arguments>…</arguments>.
var nestedCall = lazy.Pattern(`^<(?:tool_name|function_name|name)>\s*([^<\s]+)\s*</[a-z_]+>\s*(?:<(arguments|parameters|params|args|input)>)?`)

// nested reads such a call.
func (p *parser) nested() bool {
	at := nestedCall().FindStringSubmatch(p.rest)
	if at == nil || !p.marked {
		return false
	}
	name := plainName(at[1])
	p.rest = p.rest[len(at[0]):]
	if at[2] == "" {
		p.add(name, "")
		return true
	}
	inside, after, ok := strings.Cut(p.rest, "</"+at[2]+">")
	if !ok {
		return false
	}
	if arguments := strings.TrimSpace(inside); !strings.HasPrefix(arguments, "<") {
		p.add(name, arguments)
	} else {
		inner := parser{rest: arguments, offered: p.offered}
		p.add(name, encode(inner.children(name)))
	}
	p.rest = after
	return true
}

// close drops the mark that ends a call.
func (p *parser) close() {
	rest := strings.TrimSpace(p.rest)
	if at := elementEnd().FindStringIndex(rest); at != nil && (rest[1] == '/' || rest[1] == '|') {
		rest = rest[at[1]:]
	}
	p.rest = rest
}

// arguments reads the arguments at the front, with the types that the tool's schema gives them.
func (p *parser) arguments(tool string) map[string]any {
	all := make(map[string]any)
	for {
		if len(all) == maxCalls { // their ends are searched in all that follows
			return all
		}
		rest := strings.TrimSpace(p.rest)
		at := argumentMark().FindStringSubmatchIndex(rest)
		if at == nil {
			return all
		}
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return rest[at[2*n]:at[2*n+1]]
		}
		name := html.UnescapeString(group(1) + group(3) + group(5))
		attributes := group(2) + group(4)
		value := rest[at[1]:]
		end := len(value)
		after := len(value)
		if found := argumentEnd().FindStringIndex(value); found != nil {
			end = found[0]
			after = found[1]
			if mark := value[found[0]:found[1]]; !strings.Contains(mark, "param") && !strings.Contains(mark, "arg") || mark == "<parameter=" {
				after = found[0]
			}
		}
		text := strings.TrimSuffix(strings.TrimPrefix(value[:end], "\n"), "\n")
		switch {
		case strings.Contains(attributes, `string="true"`), strings.Contains(attributes, `type="string"`):
			all[name] = text
		default:
			all[name] = p.typed(tool, name, text)
		}
		p.rest = value[after:]
	}
}

// children reads arguments that are elements with their names: <city>Paris</city> (MiniMax M3).
func (p *parser) children(tool string) map[string]any {
	all := make(map[string]any)
	for {
		at := childElement().FindStringSubmatchIndex(p.rest)
		if at == nil {
			return all
		}
		name := p.rest[at[2]:at[3]]
		value, after, ok := strings.Cut(p.rest[at[1]:], "</"+name+">")
		if !ok {
			return all
		}
		all[name] = p.typed(tool, name, value)
		p.rest = after
	}
}
