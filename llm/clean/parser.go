// Calls written as text: servers that do not know a model's form of a call leave it in the text.

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
	"cairn/llm"
)

// parser reads calls from the front of a text.
type parser struct {
	tools offered
	rest  string
	calls callList

	marked bool // there was a special mark
	ended  bool // the turn ends in front of rest
	inCode bool // rest is in a block of code
}

// parse reads as many calls as there are.
func (p *parser) parse() {
	for {
		before := p.rest
		p.rest = strings.TrimLeftFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
		if p.rest == "" || p.ended || len(p.calls) == maxCalls {
			return
		}
		if !p.one() {
			p.rest = before
			return
		}
	}
}

// one reads a mark or a call.
func (p *parser) one() bool {
	switch c := p.rest[0]; {
	case opensMark[c]:
		if m, _ := markAt(p.rest, true); m.kind != none && p.mark(m) {
			return true
		}
		if c == '[' {
			return p.list() || p.words()
		}
		return p.nested() || p.toolElement()
	case c == '{':
		return p.json()
	case c == '`':
		return p.code()
	}
	if list, ok := strings.CutPrefix(p.rest, functools); ok { // Phi 4
		p.rest = list
		p.marked = true
		return p.list()
	}
	return p.react() || p.named()
}

// functools is before a list of calls.
const functools = "functools"

// withoutMarks returns a text without the marks of calls in it.
func withoutMarks(text string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "<[")
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		m, _ := markAt(text, true)
		if m.kind == none {
			b.WriteByte(text[0])
		}
		text = text[max(m.size, 1):]
	}
	return b.String() + text
}

// mark reads what a mark begins.
func (p *parser) mark(m mark) bool {
	switch m.kind {
	case turnEnds, turnBegins:
		p.ended = len(p.calls) > 0
		if !p.ended {
			p.rest = p.rest[m.size:]
		}
		return true
	case block, special: // a result that the model has invented
		p.ended = len(p.calls) > 0
		return p.ended
	case header:
		return p.channel()
	case callMark:
		p.marked = true
		return p.markup(m)
	}
	return false
}

// channel reads a call in a channel: … to=functions.lookup<|channel|>commentary json<|message|>{"word":"tea"}.
func (p *parser) channel() bool {
	at := channelHeader().FindStringSubmatch(p.rest)
	if at == nil || at[1]+at[3] == "" {
		return false
	}
	p.marked = true
	body := p.rest[len(at[0]):]
	end := len(body)
	for i := 0; i < len(body); i++ {
		if body[i] == '<' {
			if m, _ := markAt(body[i:], true); m.kind != none && closesMessage[strings.ToLower(body[i:i+m.size])] {
				end = i
				break
			}
		}
	}
	arguments := strings.TrimSpace(body[:end])
	p.rest = body[end:]
	if strings.HasPrefix(arguments, "<") {
		inner := parser{rest: arguments, tools: p.tools}
		inner.parse()
		p.calls = append(p.calls, inner.calls...)
		return len(inner.calls) > 0
	}
	p.calls.add(at[1]+at[3], arguments)
	return true
}

// fenceOf matches the first line of a block of code that may contain a call.
var fenceOf = lazy.Pattern("^(`{3,})(?i:json[5c]?|jsonl|tool_calls?|tool_code|tool_use|python|py|xml|function_calls?|text|plaintext)?[ \t]*\r?\n")

// code reads the calls in a block of code.
func (p *parser) code() bool {
	at := fenceOf().FindStringSubmatch(p.rest)
	if at == nil || p.inCode {
		return false
	}
	inside := p.rest[len(at[0]):]
	end := strings.Index(inside, "\n"+at[1])
	if end < 0 {
		return false
	}
	inner := parser{rest: inside[:end], tools: p.tools, inCode: true}
	inner.parse()
	if strings.TrimSpace(inner.rest) != "" || len(inner.calls) == 0 {
		return false
	}
	p.calls = append(p.calls, inner.calls...)
	p.rest = inside[end+1+len(at[1]):]
	p.ended = strings.HasPrefix(strings.TrimSpace(p.rest), resultFence)
	return true
}

// nameOf matches the name of a tool with what is around it in some forms: functions.lookup:0 (Kimi K2),
// default_api.lookup (Gemma), lookup.call (Llama).
var nameOf = lazy.Pattern(`^(?:call:|functions\.|default_api\.|tools\.)*([A-Za-z_][\w.-]{0,127}?)(?:\.call)?(?::\d+)?$`)

func plainName(written string) string {
	if at := nameOf().FindStringSubmatch(strings.TrimSpace(written)); at != nil {
		return at[1]
	}
	return strings.TrimSpace(written)
}

// maxCalls limits the calls of an answer: OpenAI accepts 128 tools.
const maxCalls = 128

// callList are the calls that were read so far.
type callList []llm.Call

// add adds a call with arguments as the model wrote them.
func (l *callList) add(name, arguments string) {
	name = plainName(name)
	if name == "" || len(*l) == maxCalls {
		return
	}
	arguments = strings.TrimSpace(arguments)
	if arguments == "" {
		arguments = "{}"
	}
	*l = append(*l, llm.Call{Name: name, Arguments: arguments})
}

// namedIn matches the name of a tool in a call that cannot be parsed.
var namedIn = lazy.Pattern(`"(?:name|function|tool|tool_name|function_name|recipient_name)"\s*:\s*"([^"]{1,128})"|` +
	`<function=["']?([^>"'\s]{1,128})|(?:name|tool)=["']?([\w.:-]{1,128})|^\W*(?:call:)?([A-Za-z_][\w.-]{0,127})\s*[\[({<]`)

// salvage makes a call of what has marks of one but cannot be parsed, with the arguments as they are: the model learns what
// is wrong with them.
func (p *parser) salvage(text string) {
	if len(p.calls) > 0 || p.ended {
		return
	}
	body := strings.TrimSpace(text)
	token := ""
	for body != "" {
		m, _ := markAt(body, true)
		if m.kind != callMark || strings.Contains(body[:m.size], "=") || m.open {
			break
		}
		if mark := body[:m.size]; !isTag(mark) && !m.closes {
			token = wordOf(m.name)
		}
		body = strings.TrimSpace(body[m.size:])
	}
	at := namedIn().FindStringSubmatch(body)
	if first := word().FindString(body); at == nil && p.tools.tool(first) != nil {
		at = []string{"", first, "", "", ""}
		body = strings.TrimSpace(body[len(first):])
		if m, _ := markAt(body+" ", true); m.kind == callMark && !m.closes { // between the name and the arguments
			body = body[min(m.size, len(body)):]
		}
	}
	if at == nil {
		at = []string{"", token, "", "", ""} // the model learns that there is no such tool
	}
	arguments := body
	for _, key := range argumentKeys {
		if _, after, ok := strings.Cut(body, `"`+key+`"`); ok {
			arguments = strings.TrimLeft(after, ": \n\t")
			break
		}
	}
	for i := range len(arguments) {
		if arguments[i] == '<' || arguments[i] == '[' {
			if m, _ := markAt(arguments[i:], true); m.kind == callMark && m.closes || m.kind == turnEnds {
				arguments = arguments[:i]
				break
			}
		}
	}
	p.calls.add(at[1]+at[2]+at[3]+at[4], arguments)
	p.rest = ""
}
