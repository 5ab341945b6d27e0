// Calls in lines of ReAct, of offered tools: the line "Action: lookup" and the line "Action Input: tea".

package clean

import (
	"slices"
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// The forms: github.com/langchain-ai/langchain (prompts hwchase17/react and structured-chat-agent, which has a block of code
// behind Action:, like Command R, huggingface.co/CohereForAI/c4ai-command-r-v01), and github.com/ysymyth/ReAct: Action 1: lookup[tea].
var (
	actionHead  = lazy.Pattern(`^(?:\*\*)?Action(?: \d{1,2})?:(?:\*\*)?[ \t]*`)
	actionPart  = lazy.Pattern(`^(?:\*{1,2}|(?:\*\*)?A(?:c(?:t(?:i(?:o(?:n(?: ?\d{0,2})?)?)?)?)?)?)$`) // the beginning of that
	actionInput = lazy.Pattern("^[`*\"]{0,2}([A-Za-z_][\\w.-]*)[`*\"]{0,2}[ \t]*\n+(?:\\*\\*)?(?:Action )?Input(?: \\d{1,2})?:(?:\\*\\*)?[ \t]*")
	actionValue = lazy.Pattern(`^([A-Za-z_][\w.-]*)\[([^\n]*)\]`)
)

// mayBeAction reports whether a text that begins with front may be such a call. more: it takes more text to know.
func (o offered) mayBeAction(front string) (may, more bool) {
	const (
		longest = 200 // bytes up to the input
		around  = "`*\" \t"
	)
	if len(o) == 0 {
		return false, false
	}
	head := actionHead().FindString(front)
	if head == "" {
		more = actionPart().MatchString(front)
		return more, more
	}
	behind := strings.TrimLeftFunc(front[len(head):], unicode.IsSpace)
	if strings.HasPrefix(behind, "`") && agrees(behind, "```") {
		return mayBeActionCode(behind)
	}
	behind = strings.TrimLeft(behind, around)
	name := word().FindString(behind)
	short := len(front) < longest
	after := strings.TrimLeft(behind[len(name):], around)
	switch {
	case after == "":
		may = short && slices.ContainsFunc(o.names(), func(of string) bool { return strings.HasPrefix(of, name) })
		return may, may
	case o.tool(name) == nil:
		return false, false
	case after[0] != '\n':
		return after[0] == '[' || after[0] == '(', false
	}
	input := strings.TrimLeft(after, "\n*")
	may = agrees(input, "Action Input") || agrees(input, "Input")
	return may, may && short && len(input) < len("Action Input")
}

// mayBeActionCode reports whether a block of code that begins with front may have a call as JSON. It looks at the first key.
func mayBeActionCode(front string) (may, more bool) {
	const maxKey = 60 // bytes up to that key
	first := fenceOf().FindString(front)
	if first == "" {
		more = len(front) < maxRole && !strings.Contains(front, "\n")
		return more, more
	}
	key := front[len(first):]
	key = key[:min(len(key), maxKey)]
	short := len(key) < maxKey
	key = strings.TrimLeft(key, "[{ \t\r\n")
	end := strings.IndexByte(strings.TrimPrefix(key, `"`), '"')
	return startsCall(key), short && end < 0
}

// laterAction holds back what begins like such a call behind some text.
func (b *body) laterAction(in *input) step {
	if b.text.last != '\n' || b.mentions.any || in.textOnly || !strings.ContainsAny(in.raw[:1], "A*") {
		return step{verdict: nothing}
	}
	switch may, more := in.tools.mayBeAction(in.raw); {
	case more && !in.final:
		return step{verdict: unknown}
	case more || !may:
		return step{verdict: nothing}
	}
	return b.laterPlain(in, true)
}

// react reads such a call. What follows is what the model has made up.
func (p *parser) react() bool {
	head := actionHead().FindString(p.rest)
	if head == "" {
		return false
	}
	rest := strings.TrimLeftFunc(p.rest[len(head):], unicode.IsSpace)
	switch {
	case strings.HasPrefix(rest, "```"):
		inner := parser{rest: strings.Replace(rest, "]```", "]\n```", 1), tools: p.tools}
		if !inner.code() {
			return false
		}
		p.calls = append(p.calls, inner.calls...)
		p.rest = inner.rest
	case actionValue().MatchString(rest):
		at := actionValue().FindStringSubmatch(rest)
		if p.tools.tool(at[1]) == nil || !p.inElement(at[1], at[2]) {
			return false
		}
		p.rest = rest[len(at[0]):]
	case !p.reactInput(rest):
		inner := parser{rest: rest, tools: p.tools}
		if !inner.named() {
			return false
		}
		p.calls = append(p.calls, inner.calls...)
		p.rest = inner.rest
	}
	next := strings.TrimSpace(p.rest)
	p.ended = strings.HasPrefix(next, "Observation") || strings.HasPrefix(next, "Thought")
	return true
}

// reactInput reads the name of the tool, and the input in the line behind it, up to what the model has made up.
func (p *parser) reactInput(text string) bool {
	at := actionInput().FindStringSubmatch(text)
	if at == nil || p.tools.tool(at[1]) == nil {
		return false
	}
	input := text[len(at[0]):]
	end := len(input)
	if raw, ok := valueAt(input); ok && strings.HasPrefix(strings.TrimSpace(input), "{") {
		end = len(raw)
	} else if at := strings.Index(input, "\nObservation"); at >= 0 {
		end = at
	}
	value := strings.TrimSpace(input[:end])
	if fence := fenceOf().FindString(value); fence != "" {
		value = strings.TrimSpace(strings.TrimSuffix(value[len(fence):], "```"))
	}
	p.rest = input[end:]
	return p.inElement(at[1], value)
}
