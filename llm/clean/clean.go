// Package clean removes parts of the model's template and of Cairn's prompt from a model's output: reasoning,
// end-of-turn tokens and the text after them, headers, blocks. It also reads tool calls that are written as text.
// Text about such marks, and code, stays unchanged. It is pure.
//
// A Filter reads a text once, from the front, whatever the size of its pieces: it decides about a mark only when what
// follows suffices, so a text in pieces and the full text give the same result.
//
// A piece of text goes through these types:
//
//   - input removes unreadable characters (scrubber) and keeps what is undecided, with what the request says (request).
//   - markAt classifies a mark at the front of the input (mark); follow looks at what is behind it (following).
//   - opening reads first: it drops headers, labels and tokens until the answer begins.
//   - body reads the answer: it moves text into a page and drops marks. It knows which code it is in (code), which marks
//     the text is about (mentions), and the form in which the model writes (traits).
//   - thought reads a thought up to its end; held reads what may be calls or a block of Cairn's prompt. Both keep what they
//     read until it is certain: then it is dropped, or goes back to the front of the input as text.
//   - parser reads the calls in what was held back: markup, programs, JSON (objects). offered knows the tools.
//
// opening, body, thought and held each return a step, by which the Filter hands the input from one to the next.
package clean

import (
	"strings"
	"unicode"

	"cairn/llm"
)

// Filter cleans one answer. The zero value takes calls written as text for calls only if they have special marks.
type Filter struct {
	Name   string                 // under which people know the model; "": unknown
	Tools  []llm.Tool             // offered in the request
	Quoted func(text string) bool // whether a text is in the prompt: then a call or a header is a quotation; nil: none is

	// Reasoned means that a thought was removed.
	Reasoned bool
	// TakenBack means that a text which Next returned has turned out to be a thought, when its end came.
	TakenBack bool
	// Calls are the calls that were written as text, without ids, after End.
	Calls []llm.Call

	in   input
	mode mode
	cut  bool // the answer has ended, and what follows is dropped

	opening opening
	body    body
	thought *thought // the last one, until it ends; nil: none
	held    *held    // what was held back last, until it is let go; nil: nothing

	callInThought string // the last thought from the first mark of a call on; "": it has none
}

// mode says which type reads the input.
type mode int

const (
	atStart mode = iota
	inBody
	inThought
	inHeld
)

// Text returns a full text without what belongs to templates. Calls stay in it.
func Text(text string) string {
	f := Filter{}
	f.in.textOnly = true
	f.Next(text)
	return f.End()
}

// Summary is Text for a summary: its heading ends a thought, too.
func Summary(text string) string {
	f := Filter{}
	f.in.textOnly = true
	f.in.summary = true
	f.Next(text)
	return f.End()
}

// Next adds a piece, and returns what it adds to the text that can be shown. What was returned is a prefix of the
// text, unless a thought ends whose beginning had no mark.
func (f *Filter) Next(piece string) (show string) {
	if f.cut {
		return ""
	}
	f.prepare()
	f.in.add(piece)
	f.run()
	page := &f.body.text
	return page.show(page.out.Len() - page.pending())
}

// End returns the full text. What it has that was not returned by Next is in Rest.
func (f *Filter) End() string {
	f.prepare()
	f.in.end()
	f.run()
	for f.finish() {
		f.run()
	}
	f.readCallInThought()
	if f.mode == atStart && !f.opening.stripped { // the answer is white space
		f.body.text.put(f.opening.takeLead())
	}
	return f.Text()
}

// Text returns the text so far.
func (f *Filter) Text() string {
	text := f.body.text.out.String()
	if f.cut {
		return strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text
}

// Rest returns what remains to be shown of the text, after End.
func (f *Filter) Rest() string { return f.body.text.show(len(f.Text())) }

// Held returns the size of what has arrived and is kept, in bytes.
func (f *Filter) Held() int {
	size := f.in.size() + f.opening.lead.Len() + f.body.text.out.Len() + len(f.callInThought)
	if f.thought != nil {
		size += f.thought.kept()
	}
	if f.held != nil {
		size += f.held.text.Len()
	}
	return size
}

// prepare passes on what the caller knows of the request.
func (f *Filter) prepare() {
	f.in.name = f.Name
	f.in.tools = f.Tools
	f.in.quoted = f.Quoted
}

// run reads until the input is empty, or more of it must arrive.
func (f *Filter) run() {
	for f.in.raw != "" && !f.cut {
		found := f.read()
		if found.verdict == unknown {
			return
		}
		f.do(found)
	}
}

// read decides about the front of the input.
func (f *Filter) read() step {
	switch f.mode {
	case inThought:
		return f.thought.read(&f.in)
	case inHeld:
		return f.held.read(&f.in)
	case inBody:
		return f.body.read(&f.in)
	}
	return f.opening.read(&f.in)
}

// finish ends what is open at the end of the answer. It returns true if that leaves something to decide.
func (f *Filter) finish() bool {
	switch {
	case f.cut:
		return false
	case f.mode == inThought:
		f.do(f.thought.finish(&f.in))
	case f.mode == inHeld:
		f.do(f.held.release(&f.in))
	default:
		return false
	}
	return true
}
