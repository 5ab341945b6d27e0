// Package clean removes parts of the model's template and of Cairn's prompt from a model's output: reasoning,
// end-of-turn tokens and the text after them, headers, blocks. It also reads tool calls that are written as text.
// Text about such marks, and code, stays unchanged. It is pure.
//
// A Filter reads a text once, from the front, whatever the size of its pieces: it decides about a mark only when what
// follows suffices, so a text in pieces and the whole text give the same result.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

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

	textOnly bool // no call is read
	summary  bool // the text is a summary

	raw   string // has arrived, and is not decided
	tail  string // the first bytes of a rune
	scrub scrubber
	mode  mode // nil: at the start
	lead  strings.Builder
	held  strings.Builder // may turn out to be calls, or a block of Cairn's
	cut   bool            // the answer has ended, and what follows is dropped

	page
	thinking
	holding

	stripped     bool // something was removed at the start
	wrapped      bool // the answer is in tags that follow a thought
	channels     bool // the answer has come in a channel
	messageEnded bool // the message in a channel has just ended
	plainHeld    int  // how often something behind text was held back that has no mark
	labelled     bool // the answer began with the model's name or role
	headed       bool // the answer began with a header of Cairn's

	inThought string // the last thought from the first mark of a call on; "": it has none
}

// mode decides about the front of raw. It returns false if that needs more; never if final.
type mode func(f *Filter, final bool) bool

// Text returns a whole text without what belongs to templates. Calls stay in it.
func Text(text string) string {
	f := Filter{textOnly: true}
	f.Next(text)
	return f.End()
}

// Summary is Text for a summary: its heading ends a thought, too.
func Summary(text string) string {
	f := Filter{textOnly: true, summary: true}
	f.Next(text)
	return f.End()
}

// Next adds a piece, and returns what it adds to the text that can be shown. What was returned is a prefix of the
// text, unless a thought ends whose beginning had no mark.
func (f *Filter) Next(piece string) (show string) {
	if f.cut {
		return ""
	}
	piece = f.tail + piece
	whole := wholeRunes(piece)
	f.tail = piece[whole:]
	f.raw += f.scrub.next(piece[:whole], false, f.isQuoted)
	f.run(false)
	return f.show(f.out.Len() - f.pending())
}

// End returns the whole text. What it has that was not returned by Next is in Rest.
func (f *Filter) End() string {
	f.raw += f.scrub.next(f.tail, true, f.isQuoted)
	f.tail = ""
	for f.run(true); f.mode != nil && f.finish(); f.run(true) {
	}
	f.callsInThought()
	if f.mode == nil && !f.stripped {
		f.put(f.lead.String())
		f.lead.Reset()
	}
	return f.Text()
}

// Text returns the text so far.
func (f *Filter) Text() string {
	if f.cut {
		return strings.TrimRightFunc(f.out.String(), unicode.IsSpace)
	}
	return f.out.String()
}

// Rest returns what remains to be shown of the text, after End.
func (f *Filter) Rest() string { return f.show(len(f.Text())) }

// Held returns the size of what has arrived and is kept, in bytes.
func (f *Filter) Held() int {
	return len(f.raw) + len(f.scrub.rest) + f.lead.Len() + f.held.Len() + f.out.Len() + f.all.Len() + f.after.Len() + f.call.Len() + len(f.inThought)
}

// wholeRunes returns the size of text without the first bytes of a rune at its end.
func wholeRunes(text string) int {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRuneInString(text[i:]) {
				break
			}
			return i
		}
	}
	return len(text)
}

func (f *Filter) run(final bool) {
	for f.raw != "" && !f.cut {
		next := f.mode
		if next == nil {
			next = (*Filter).start
		}
		if !next(f, final) {
			return
		}
	}
}

// finish ends what is open at the end of the answer. It returns true if that leaves something to decide.
func (f *Filter) finish() bool {
	switch {
	case f.isThinking:
		f.endThinking()
	case f.isHolding:
		f.release()
	default:
		return false
	}
	return true
}

// take moves n bytes of raw into the text.
func (f *Filter) take(n int) {
	f.put(f.raw[:n])
	f.raw = f.raw[n:]
}

// takeRune moves one rune of raw into the text.
func (f *Filter) takeRune() {
	_, size := utf8.DecodeRuneInString(f.raw)
	f.take(size)
}

// skip drops n bytes of raw.
func (f *Filter) skip(n int) { f.raw = f.raw[n:] }

// end drops the rest of the answer.
func (f *Filter) end() {
	f.cut = true
	f.raw = ""
}

// takeBack drops the text: it was a thought without a mark at its beginning.
func (f *Filter) takeBack() {
	f.Reasoned = f.Reasoned || f.out.Len() > 0
	f.TakenBack = f.TakenBack || f.shown > 0
	f.page = page{}
	f.stripped = true
	f.mode = nil
}
