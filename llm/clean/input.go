// What has arrived of an answer and is not decided, and what the request says about it.

package clean

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/llm"
)

// request is what is known of the request to which the text is the answer.
type request struct {
	name    string                 // under which people know the model; "": unknown
	tools   offered                // in the request
	quoted  func(text string) bool // whether a text is in the prompt; nil: none is
	summary bool                   // the text is a summary
}

// isQuoted reports whether a text is in the prompt.
func (r *request) isQuoted(text string) bool { return r.quoted != nil && r.quoted(text) }

// botName returns the size of the bot's name at the front of a text; 0 if it is not there.
func (r *request) botName(text string) int {
	for _, name := range []string{r.name, "Cairn"} {
		if name != "" && len(text) >= len(name) && strings.EqualFold(text[:len(name)], name) {
			return len(name)
		}
	}
	return 0
}

// isExplained reports whether a name is that of a role which people have written.
func (r *request) isExplained(name string) bool {
	return name != r.name && name != "Cairn" && (r.isQuoted(name) || r.isQuoted(strings.ToLower(name)))
}

// isRepeated reports whether calls are only repeated from the prompt: it has their text, or the name and the arguments of each in
// another form.
func (r *request) isRepeated(text string, calls []llm.Call) bool {
	if r.isQuoted(text) {
		return true
	}
	return !slices.ContainsFunc(calls, func(c llm.Call) bool {
		return c.Arguments == "{}" || !r.isQuoted(c.Name) || !r.isQuoted(c.Arguments)
	})
}

// input is what has arrived of an answer and is not decided.
type input struct {
	request

	textOnly bool // no call is read: nobody wants one, or what began like one was text

	raw   string   // readable full runes
	final bool     // nothing follows
	tail  string   // the first bytes of a rune
	scrub scrubber // makes raw of what arrives
}

// add adds a piece.
func (in *input) add(piece string) {
	piece = in.tail + piece
	size := fullRunes(piece)
	in.tail = piece[size:]
	in.raw += in.scrub.next(piece[:size], false, in.isQuoted)
}

// end adds what waited for another piece.
func (in *input) end() {
	in.raw += in.scrub.next(in.tail, true, in.isQuoted)
	in.tail = ""
	in.final = true
}

// size returns the size of what is readable, or waits for more to be, in bytes.
func (in *input) size() int { return len(in.raw) + len(in.scrub.rest) }

// take removes n bytes from the front and returns them.
func (in *input) take(n int) string {
	taken := in.raw[:n]
	in.raw = in.raw[n:]
	return taken
}

// skip removes n bytes from the front.
func (in *input) skip(n int) { in.raw = in.raw[n:] }

// putBack puts a text in front.
func (in *input) putBack(text string) { in.raw = text + in.raw }

// runeSize returns the size of the first rune of a text.
func runeSize(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// fullRunes returns the size of text without the first bytes of a rune at its end.
func fullRunes(text string) int {
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
