package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/testkit/llmtest"
)

// serverScript is the script of a strict server: it calls the tools that a question asks for,
// answers, and summarizes.
type serverScript struct {
	words *rand.Rand
	calls int
}

// Phrases with which questions ask for a tool call. The last one in a message counts.
const (
	asksRecall = "Look up what we said about"
	asksSearch = "What do you remember of"
	asksSave   = "Please note down"
)

// isWorker reports whether a request asks for a summary.
func isWorker(r llmtest.Request) bool {
	return offers(r, "summarize") || askedSpan.MatchString(r.Last().Text())
}

func offers(r llmtest.Request, tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t llmtest.Tool) bool { return t.Function.Name == tool })
}

// opensTurn reports whether a request is the first of its turn.
func opensTurn(r llmtest.Request) bool { return !isWorker(r) && r.Last().Role == llm.RoleUser }

// play answers a request.
func (m *serverScript) play(x *llmtest.Exchange) {
	switch {
	case isWorker(x.Request):
		m.summarize(x)
	case opensTurn(x.Request) && offers(x.Request, "recall"):
		if calls := m.requestedCalls(x.Request.Last().Text()); len(calls) > 0 {
			x.UseAll(calls...)
			return
		}
		fallthrough
	default:
		answer := text(m.words, 20+m.words.IntN(100))
		x.Say(answer[:len(answer)/2], answer[len(answer)/2:])
	}
}

func (m *serverScript) call(tool, arguments string, args ...any) llm.Call {
	m.calls++
	return llm.Call{ID: fmt.Sprint("call_", m.calls), Name: tool, Arguments: fmt.Sprintf(arguments, args...)}
}

// requestedCalls returns the tool calls that a question asks for: none, one or two.
func (m *serverScript) requestedCalls(question string) []llm.Call {
	asked := ""
	at := -1
	for _, phrase := range []string{asksRecall, asksSearch, asksSave} {
		if i := strings.LastIndex(question, phrase); i > at {
			asked = phrase
			at = i
		}
	}
	if at < strings.LastIndex(question, modelAsks) || at < strings.LastIndex(question, "<tool_result") {
		return nil // an older question asked for it, or its result is already there
	}
	topic := vocabulary[m.words.IntN(len(vocabulary))]
	switch asked {
	case asksRecall:
		return []llm.Call{m.call("recall", `{"query":%q,"limit":3}`, topic+" tomorrow")}
	case asksSearch:
		return []llm.Call{m.call("memory_search", `{"query":%q}`, topic), m.call("recall", `{"query":%q,"limit":2}`, topic)}
	case asksSave:
		return []llm.Call{m.call("memory_save", `{"content":%q,"kind":"fact","importance":0.5}`, text(m.words, 20))}
	}
	return nil
}

// summarize saves memories first if the tool is offered, and then summarizes.
func (m *serverScript) summarize(x *llmtest.Exchange) {
	req := llm.Request{}
	for _, message := range x.Request.Messages {
		req.Messages = append(req.Messages, llm.Message{Role: message.Role, Text: message.Text()})
	}
	for _, t := range x.Request.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Function.Name})
	}
	want, err := wantedOf(req)
	if err != nil {
		x.Reject(500, "server_error", err.Error())
		return
	}
	if len(req.Tools) == 0 {
		x.Say(want.summary(m.words))
		return
	}
	m.calls++
	x.UseAll(want.answer(m.words, m.calls).Message.Calls...)
}
