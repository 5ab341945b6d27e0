// What the answers of all wires have in common.

package provider

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/llm/clean"
)

// A text of n tokens may have bytesPerToken*n bytes, several times the usual, and always leastText: a server that ignores
// the limit must not flood a channel.
const (
	leastText     = 64 << 10
	bytesPerToken = 32
)

// Answer accumulates an answer on any wire, and counts the bytes that it keeps: a server that sends without end must not
// fill memory.
type Answer struct {
	Started  bool   // something of it was received
	Finish   string // the finish reason, in llm's terms as far as there is one; "": the server has not finished
	Usage    llm.Usage
	Reasoned bool // the model has reasoned, visibly
	Calls    []*Call

	show func(string) // may be nil

	bytes, maxBytes int
	maxText         int   // bytes
	over            error // the first limit that was exceeded

	text    clean.Filter
	waits   bool // nothing is shown before it is known that it is no thought
	waiting strings.Builder
}

// Count counts bytes that are kept: of text, calls, reasoning and other fields.
func (a *Answer) Count(n int) {
	if a.bytes += n; a.bytes > a.maxBytes {
		a.exceed(a.maxBytes, "bytes")
	}
}

// exceed records that a limit was exceeded: the answer is given up after the current event.
func (a *Answer) exceed(most int, what string) {
	if a.over == nil {
		a.over = llm.TooLong(most, what)
	}
}

// Say adds a piece. NUL bytes are removed: they break databases and terminals. So is what belongs to the model's template.
func (a *Answer) Say(piece string) {
	piece = strings.ReplaceAll(piece, "\x00", "")
	if a.Count(len(piece)); a.text.Held()+len(piece) > a.maxText {
		a.exceed(a.maxText, "bytes")
	}
	if a.over != nil {
		return
	}
	a.display(a.text.Next(piece))
}

// display shows what is added to the text, once it need not wait.
func (a *Answer) display(text string) {
	if a.waits && !a.text.Reasoned {
		a.waiting.WriteString(text)
		return
	}
	if !a.text.TakenBack {
		text = a.waiting.String() + text
	}
	a.waiting.Reset()
	if a.show != nil && text != "" {
		a.show(text)
	}
}

// Text returns the text so far.
func (a *Answer) Text() string { return a.text.Text() }

// Call is a tool call that is being received.
type Call struct {
	Index     int // the server's number
	ID, Name  string
	Arguments strings.Builder
}

// Call returns the call with an index; it adds one if there is none.
func (a *Answer) Call(index int) *Call {
	if at := slices.IndexFunc(a.Calls, func(c *Call) bool { return c.Index == index }); at >= 0 {
		return a.Calls[at]
	}
	return a.AddCall(index)
}

// maxCalls limits the tool calls of an answer: OpenAI accepts 128 tools.
const maxCalls = 128

// AddCall adds a call behind the others.
func (a *Answer) AddCall(index int) *Call {
	if len(a.Calls) == maxCalls {
		a.exceed(maxCalls, "tool calls")
	}
	c := &Call{Index: index}
	a.Calls = append(a.Calls, c)
	return c
}

// Begin sets id and name of a call, unless it has them, and counts them and the arguments that come with them.
func (a *Answer) Begin(c *Call, id, name, arguments string) {
	c.ID, c.Name = cmp.Or(c.ID, id), cmp.Or(c.Name, name)
	c.Arguments.WriteString(arguments)
	a.Count(len(id) + len(name) + len(arguments))
}

// Overflow returns the error of an answer that reached the end of the window.
func (a *Answer) Overflow() *llm.Error {
	return &llm.Error{
		Kind: llm.KindOverflow, Message: "the answer reached the end of the context window",
		Limit: a.Usage.Prompt + a.Usage.Completion, Prompt: a.Usage.Prompt,
	}
}

// respond returns the whole answer, with an id for each call.
func (a *Answer) respond(w Reader) (llm.Response, error) {
	if !a.Started {
		return llm.Response{}, llm.Truncated(errors.New("there was nothing in it"))
	}
	m := llm.Message{Role: llm.RoleAssistant, Text: a.text.End()}
	a.waits = false
	if a.display(a.text.Rest()); len(a.Calls) == 0 { // a server that reads calls may leave them in the text, too
		m.Calls = a.text.Calls
	}
	for _, call := range a.Calls {
		if call.Name == "" {
			return llm.Response{}, llm.Truncated(errors.New("a tool call without a name"))
		}
		m.Calls = append(m.Calls, llm.Call{ID: call.ID, Name: call.Name, Arguments: unwrapped(call.Arguments.String())})
	}
	llm.NameCalls(m.Calls)
	m.Native = w.Native(m.Calls)
	a.Reasoned = a.Reasoned || len(m.Native) > 0 || a.text.Reasoned
	if a.Finish = cmp.Or(a.Finish, llm.FinishStop); a.Finish == llm.FinishStop && len(m.Calls) > 0 {
		a.Finish = llm.FinishToolCalls
	}
	return llm.Response{Message: m, FinishReason: a.Finish, Usage: a.Usage}, nil
}
