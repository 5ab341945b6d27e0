// Calls as markup: an element for the call, and one for each argument, whose values are texts without types.

package clean

import (
	"strings"

	"cairn/internal/lazy"
)

// minimax is before each tag of MiniMax M3.
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

	// elementEnd matches the mark that ends a call, or begins the next.
	elementEnd = lazy.Pattern(`^(?:</function>|</(?:[\w:｜|‖]*[:｜|‖])?invoke>|<\|close\|>\s*call\s*<\|sep\|>|</tool_call(?::\w+)?>|<function=|<tool_call>)`)
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
			p.calls.add(name, string(raw))
			p.rest = behindElement(body[len(raw):])
			return true
		}
	}
	arguments, behind := p.tools.arguments(name, body)
	if len(arguments) == 0 {
		arguments, behind = p.tools.children(name, behind)
	}
	p.rest = behind
	if rest := strings.TrimSpace(behind); len(arguments) == 0 && rest != "" && !elementEnd().MatchString(rest) {
		return false
	}
	p.calls.add(name, encode(arguments))
	p.rest = behindElement(behind)
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
		p.calls.add(name, "")
		return true
	}
	inside, after, ok := strings.Cut(p.rest, "</"+at[2]+">")
	if !ok {
		return false
	}
	if arguments := strings.TrimSpace(inside); !strings.HasPrefix(arguments, "<") {
		p.calls.add(name, arguments)
	} else {
		all, _ := p.tools.children(name, arguments)
		p.calls.add(name, encode(all))
	}
	p.rest = after
	return true
}

// behindElement returns what is behind the mark that ends a call, if it is at the front of a text.
func behindElement(text string) string {
	text = strings.TrimSpace(text)
	if at := elementEnd().FindStringIndex(text); at != nil && (text[1] == '/' || text[1] == '|') {
		return text[at[1]:]
	}
	return text
}
