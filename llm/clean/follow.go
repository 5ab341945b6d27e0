// What follows a mark decides whether it is one.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// following is what is behind a mark.
type following struct {
	blank   int  // bytes of white space
	newline bool // the white space has a line break
	end     bool // the answer ends behind the white space
	first   rune // the first rune behind the white space; 0: none
	mark    mark // that begins there
	role    bool // a role begins there, in a line of its own or with a colon
}

// maxBlank limits the white space behind a mark that is read to decide about it: behind more the answer has ended.
const maxBlank = 64

// role matches a role that begins a turn in words.
var role = lazy.Pattern(`^(?i:` + botRoles + `|` + otherRoles + `)(?:[ \t]*\n|:|[ \t]*$)`)

// maxRole is the size of the longest role with what must follow it, and some white space.
const maxRole = 20

// follow returns what is behind a mark. more: that has not arrived.
func follow(rest string, final bool) (f following, more bool) {
	solid := strings.TrimLeftFunc(rest, unicode.IsSpace)
	f.blank = len(rest) - len(solid)
	f.newline = strings.Contains(rest[:f.blank], "\n")
	if solid == "" || f.blank >= maxBlank {
		f.end = true
		return f, !final && f.blank < maxBlank
	}
	if !final && !utf8.FullRuneInString(solid) {
		return f, true
	}
	f.first, _ = utf8.DecodeRuneInString(solid)
	f.mark, more = markAt(solid, final)
	if more {
		return f, true
	}
	start := solid[:min(len(solid), maxRole)]
	if line := strings.IndexAny(start, "\n:"); !final && line < 0 && len(start) < maxRole && maybeRole(start) {
		return f, true
	}
	f.role = role().MatchString(start) && (final || len(start) == maxRole || strings.ContainsAny(start, "\n:"))
	return f, false
}

// followMark returns what is behind a mark at the front of a text, and behind its attributes.
func followMark(text string, m mark, final bool) (f following, more bool) {
	if !m.open {
		return follow(text[m.size:], final)
	}
	front := text[:min(len(text), maxHeader)]
	end := strings.IndexByte(front, '>') + 1
	if end == 0 {
		return following{end: final}, !final && len(front) < maxHeader
	}
	return follow(text[end:], final)
}

// isUnspaced reports whether r is of a script that has no spaces between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// maybeRole reports whether a line may begin with a role once more of it has arrived.
func maybeRole(start string) bool {
	start = strings.ToLower(strings.TrimRight(start, " \t"))
	for name := range strings.SplitSeq(botRoles+"|"+otherRoles, "|") {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// goesOn reports whether a sentence goes on behind a mark, in the same line: the mark is a word of it.
func (f following) goesOn() bool {
	switch {
	case f.end, f.newline, f.mark.kind != none:
		return false
	case f.blank == 0:
		return strings.ContainsRune(",.;:!?)]}\"'”’»`|/=-–—*。，、；：？！）」』", f.first)
	}
	return unicode.IsLower(f.first) || strings.ContainsRune(",.;:)(=-–—→&+/|\"'`“«", f.first)
}

// namesOn reports whether a mark is a part of a longer word: <thinking>-style, <think>'s.
func (f following) namesOn() bool {
	return !f.end && f.blank == 0 && strings.ContainsRune("-'’/+|", f.first)
}

// saysOn is goesOn without what may begin an answer, as a quotation mark.
func (f following) saysOn() bool {
	return f.goesOn() && (unicode.IsLower(f.first) || strings.ContainsRune(",.;:)=–—、，。；：）", f.first))
}
