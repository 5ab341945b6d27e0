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

// Answer accumulates an answer on any wire, within limits.
type Answer struct {
	Started  bool   // something of it was received
	Finish   string // the finish reason, in llm's terms as far as there is one; "": the server has not finished
	Usage    llm.Usage
	Reasoned bool // the model has reasoned, visibly
	Calls    []*Call

	show func(string) // may be nil

	limits
	watchdog watchdog

	text    clean.Filter
	thought clean.Filter // of reasoning that the server sends apart, for a call in it
	waits   bool         // nothing is shown before it is known that it is no thought
	waiting strings.Builder
}

// Say adds a piece. What belongs to the model's template is removed, and what nobody can read, as NUL bytes.
func (a *Answer) Say(piece string) {
	a.keep(len(piece))
	if a.text.Held()+len(piece) > a.maxText {
		a.exceed(a.maxText, "bytes of text")
	}
	if a.over != nil {
		return
	}
	if strings.TrimSpace(piece) != "" {
		a.watchdog.sawText()
	}
	a.display(a.text.Next(piece))
}

// Reason adds a piece of reasoning that the server sends apart. A model that forgets to end its thought calls a tool in it,
// and the server takes the call for reasoning.
func (a *Answer) Reason(piece string) {
	if piece == "" {
		return
	}
	a.Reasons()
	if a.thought.Held() == 0 {
		piece = "<think>\n" + piece
	}
	if a.thought.Held()+len(piece) <= a.maxText {
		a.thought.Next(piece)
	}
}

// Reasons records that the model reasons now: it may take its time until the next text.
func (a *Answer) Reasons() { a.watchdog.sawReasoning() }

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

	counted int // bytes of arguments that were counted
}

// Call returns the call with an index; it adds one if there is none.
func (a *Answer) Call(index int) *Call {
	if at := slices.IndexFunc(a.Calls, func(c *Call) bool { return c.Index == index }); at >= 0 {
		return a.Calls[at]
	}
	return a.AddCall(index)
}

// AddCall adds a call behind the others. Beyond maxCalls it returns the last one, and the answer is given up.
func (a *Answer) AddCall(index int) *Call {
	if len(a.Calls) == maxCalls {
		a.exceed(maxCalls, "tool calls")
		return a.Calls[maxCalls-1]
	}
	c := &Call{Index: index}
	a.Calls = append(a.Calls, c)
	return c
}

// Begin sets id and name of a call, unless it has them, and adds the arguments that come with them.
func (a *Answer) Begin(c *Call, id, name, arguments string) {
	had := len(c.ID) + len(c.Name)
	c.ID = cmp.Or(c.ID, id)
	c.Name = cmp.Or(c.Name, name)
	if added := len(c.ID) + len(c.Name) - had; added > 0 {
		a.watchdog.sawCall()
		a.CountCall(added)
	}
	a.Argue(c, arguments)
}

// Argue adds a piece of the arguments of a call.
func (a *Answer) Argue(c *Call, piece string) {
	a.Announce(c, len(piece))
	if a.over == nil {
		c.Arguments.WriteString(piece)
	}
}

// Announce counts bytes of arguments that a later event contains again, see Complete.
func (a *Answer) Announce(c *Call, n int) {
	c.counted += n
	a.CountCall(n)
	if n > 0 {
		a.watchdog.sawCall()
	}
}

// Complete sets all arguments of a call.
func (a *Answer) Complete(c *Call, arguments string) {
	c.Arguments.Reset()
	a.Announce(c, max(len(arguments)-c.counted, 0))
	if a.over == nil {
		c.Arguments.WriteString(arguments)
	}
}

// Overflow returns the error of an answer that reached the end of the window.
func (a *Answer) Overflow() *llm.Error {
	return &llm.Error{
		Kind: llm.KindOverflow, Message: "the answer reached the end of the context window",
		Limit: a.Usage.Prompt + a.Usage.Completion, Prompt: a.Usage.Prompt,
	}
}

// respond returns the full answer, with an id for each call.
func (a *Answer) respond(w Reader) (llm.Response, error) {
	if !a.Started {
		return llm.Response{}, llm.Truncated(errors.New("there was nothing in it"))
	}
	m := llm.Message{Role: llm.RoleAssistant, Text: a.text.End()}
	a.waits = false
	a.display(a.text.Rest())
	if len(a.Calls) == 0 { // a server that reads calls may leave them in the text, too
		m.Calls = a.text.Calls
	}
	if len(a.Calls)+len(m.Calls) == 0 && m.Text == "" {
		a.thought.End()
		m.Calls = a.thought.Calls
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
	a.Finish = llm.Clip(cmp.Or(a.Finish, llm.FinishStop))
	if a.Finish == llm.FinishStop && len(m.Calls) > 0 {
		a.Finish = llm.FinishToolCalls
	}
	return llm.Response{Message: m, FinishReason: a.Finish, Usage: a.Usage}, nil
}
