// Tokens that end or begin a turn, and what follows them.

package clean

import (
	"strings"
	"unicode"
)

// turn decides whether a token ends the answer. A server has left it in the text, so it follows the last word directly, or
// stands behind a complete sentence at the end; what follows it is the next turn, which the model has made up. A token
// that a text mentions stands in a sentence, between spaces, or in an example of a template, which begins a turn first.
func (f *Filter) turn(m mark, next following, final bool) bool {
	if !f.endsTurn(m, next) {
		return f.mention(m, next)
	}
	if next.mark.kind == header { // of the next message
		at, more := headerAt(f.raw[m.size+next.blank:], final)
		switch {
		case more:
			return false
		case at == nil:
			f.end()
			return true
		}
		f.skip(m.size + next.blank)
		f.messageEnded = true
		return f.laterChannel(next.mark, following{}, final)
	}
	f.end()
	return true
}

// endsTurn reports whether a token with what follows it is the end of the answer.
func (f *Filter) endsTurn(m mark, next following) bool {
	word := unicode.IsLetter(f.last) || unicode.IsDigit(f.last)
	switch {
	case f.solid == 0, f.inExampleOf(m), f.hasPlaceholder(),
		m.kind == turnBegins && m.name == "s", // HTML
		word && f.raw[0] == '[' && !strings.HasPrefix(f.raw, "[|") && !strings.HasPrefix(f.raw, "[e~"), // ids[EOS]
		isUnspaced(f.last) && isUnspaced(next.first) && next.blank == 0:
		return false
	}
	template := next.mark.kind == turnBegins || next.mark.kind == turnEnds || next.mark.kind == special || next.mark.kind == header ||
		next.role && next.newline
	atEnd := next.end || template
	if !f.inLine || unicode.IsSpace(f.last) {
		return f.endsBehindSpace(m, next, template)
	}
	if !f.isGlued() || next.goesOn() {
		return false
	}
	switch {
	case m.kind == special, f.about:
		return atEnd || next.role && next.blank == 0
	case m.kind == turnBegins:
		return (atEnd || next.role || next.blank == 0 && !isUnspaced(f.last)) && f.last != '}'
	}
	return atEnd || next.newline || next.blank == 0 || endsSentence(f.last)
}

// endsBehindSpace is endsTurn for a token that begins a line, or follows a sentence and a space. template: what follows it
// belongs to a template, too.
func (f *Filter) endsBehindSpace(m mark, next following, template bool) bool {
	if f.about || f.solid == ':' || f.inLine && !(endsSentence(f.solid) && f.saysInLine()) {
		return false
	}
	if next.end && m.kind != turnBegins {
		return true
	}
	if next.goesOn() || f.isAboutTemplates() {
		return false
	}
	if m.kind == turnBegins || !template { // one that the prompt has may be in a new example of it
		if f.isQuoted(f.raw[:m.size]) {
			return false
		}
	}
	begun := next.end || template || next.newline || next.blank == 0
	return begun || m.kind == turnBegins && endsSentence(f.solid)
}
