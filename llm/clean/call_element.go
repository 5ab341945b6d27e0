// Calls of offered tools in forms that also stand in other texts: elements with the name of a tool, and lines of ReAct.

package clean

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// mayBeElement reports whether a text that begins with front may be an element with a call, and nothing behind it but
// another one: <lookup>{"word": "tea"}</lookup>, <lookup><word>tea</word></lookup> (Cline: its system prompt),
// <tools>{"name": "lookup", …}.
func (o offered) mayBeElement(front string) bool {
	name, behind, whole := strings.Cut(front[1:], ">")
	if !whole {
		begins := func(of string) bool { return strings.HasPrefix(of, name) }
		return len(name) < maxMark && (slices.ContainsFunc(callWrappers, begins) || slices.ContainsFunc(o.names(), begins))
	}
	if o.tool(name) == nil {
		inside := strings.TrimLeftFunc(behind, unicode.IsSpace)
		return slices.Contains(callWrappers, name) && (inside == "" || strings.ContainsAny(inside[:1], "{[") && mayBeJSON(strings.TrimRight(inside, "</>abcdefghijklmnopqrstuvwxyz- \n")))
	}
	_, after, closed := strings.Cut(behind, "</"+name+">")
	after = strings.TrimSpace(after)
	return !closed || after == "" || after[0] == '<'
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
	name, inside, whole := strings.Cut(p.rest[1:], ">")
	switch {
	case !whole:
		return false
	case p.tool(name) != nil:
		inside, p.rest, _ = strings.Cut(inside, "</"+name+">")
		return p.inElement(name, strings.TrimSpace(inside))
	case !slices.Contains(callWrappers, name):
		return false
	}
	inner := parser{rest: inside, offered: p.offered}
	inner.parse()
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
		p.add(tool, unwrapped(json.RawMessage(inside)))
		return true
	}
	arguments := make(map[string]any)
	if inside[0] == '<' {
		inner := parser{rest: inside, offered: p.offered}
		arguments = inner.children(tool)
		if strings.TrimSpace(inner.rest) != "" {
			return false
		}
	} else {
		key, ok := p.onlyArgument(tool)
		if !ok {
			return false
		}
		arguments[key] = p.typed(tool, key, inside)
	}
	p.add(tool, encode(arguments))
	return true
}

// action matches a call of ReAct: github.com/langchain-ai/langchain, the prompt hwchase17/react. Its group: the tool.
// Command R has a block of code behind Action: huggingface.co/CohereForAI/c4ai-command-r-v01.
var action = lazy.Pattern("^Action:[ \\t]*[`*\"]?([A-Za-z_][\\w.-]*)[`*\"]?[ \\t]*\\n+(?:Action )?Input:[ \\t]*")

// mayBeAction reports whether a text that begins with front may be such a call of an offered tool.
func (o offered) mayBeAction(front string) bool {
	const begin, longest = "Action:", 200
	if at := action().FindStringSubmatch(front); at != nil {
		return o.tool(at[1]) != nil
	}
	if !strings.HasPrefix(front, begin) {
		return len(o) > 0 && strings.HasPrefix(begin, front)
	}
	switch behind := strings.TrimSpace(front[len(begin):]); {
	case behind == "" && len(front) < maxMark:
		return true
	case strings.HasPrefix(behind, "`") && agrees(behind, "```"):
		return o.mayBeCode(strings.TrimLeftFunc(front[len(begin):], unicode.IsSpace))
	}
	name, input, next := strings.Cut(strings.TrimLeft(front[len(begin):], " \t`*\""), "\n")
	if !next {
		name = strings.TrimRight(name, " \t`*\"")
		return slices.ContainsFunc(o.names(), func(of string) bool { return strings.HasPrefix(of, name) })
	}
	input = strings.TrimLeft(input, "\n")
	return o.tool(strings.TrimRight(name, " \t`*\"")) != nil && len(front) < longest && (agrees(input, "Action Input:") || agrees(input, "Input:"))
}

// react reads such a call. What follows is what the model has made up.
func (p *parser) react() bool {
	if code, found := strings.CutPrefix(p.rest, "Action:"); found && strings.HasPrefix(strings.TrimSpace(code), "```") {
		inner := parser{rest: strings.Replace(strings.TrimSpace(code), "]```", "]\n```", 1), offered: p.offered}
		if !inner.code() {
			return false
		}
		p.calls = append(p.calls, inner.calls...)
		p.rest = inner.rest
		return true
	}
	at := action().FindStringSubmatch(p.rest)
	if at == nil || p.tool(at[1]) == nil {
		return false
	}
	input, observed, found := strings.Cut(p.rest[len(at[0]):], "\nObservation:")
	if raw, ok := valueAt(input); ok && strings.HasPrefix(strings.TrimSpace(input), "{") {
		observed = input[len(raw):] + observed
		found = found || strings.HasPrefix(strings.TrimSpace(observed), "Thought:")
		input = string(raw)
	}
	if input = strings.TrimSpace(input); !p.inElement(at[1], input) {
		return false
	}
	if p.rest = ""; !found {
		p.rest = observed
	}
	p.ended = found
	return true
}
