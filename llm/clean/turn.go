// Tokens that end or begin a turn, and what follows them.

package clean

import (
	"strings"
	"unicode"
)

// turn decides whether a token ends the answer. A server has left it in the text, so it follows the last word directly, or
// is behind a complete sentence at the end; what follows it is the next turn, which the model has invented. A token
// that a text mentions is in a sentence, between spaces, or in an example of a template, which begins a turn first.
func (b *body) turn(in *input, m mark, next following) step {
	switch {
	case !b.endsTurn(in, m, next):
		return b.mention(in, m, next)
	case next.mark.kind != header:
		return step{verdict: endAnswer}
	}
	behind := m.size + next.blank
	switch head, more := messageAt(in.raw[behind:], in.final); { // the next message
	case more:
		return step{verdict: unknown}
	case head.size == 0:
		return step{verdict: endAnswer}
	}
	in.skip(behind)
	b.traits.messageEnded = true
	return b.laterMessage(in, next.mark, following{})
}

// endsTurn reports whether a token with what follows it is the end of the answer.
func (b *body) endsTurn(in *input, m mark, next following) bool {
	text := &b.text
	word := unicode.IsLetter(text.last) || unicode.IsDigit(text.last)
	switch {
	case text.solid == 0, b.mentions.inExampleOf(m), text.hasPlaceholder(),
		m.kind == turnBegins && m.name == "s", // HTML
		word && in.raw[0] == '[' && !strings.HasPrefix(in.raw, "[|") && !strings.HasPrefix(in.raw, "[e~"), // ids[EOS]
		isUnspaced(text.last) && isUnspaced(next.first) && next.blank == 0:
		return false
	}
	template := next.mark.kind == turnBegins || next.mark.kind == turnEnds || next.mark.kind == special || next.mark.kind == header ||
		next.role && next.newline
	atEnd := next.end || template
	if !text.inLine || unicode.IsSpace(text.last) {
		return b.endsBehindSpace(in, m, next, template)
	}
	if !text.isGlued() || next.goesOn() {
		return false
	}
	switch {
	case m.kind == special, b.mentions.any:
		return atEnd || next.role && next.blank == 0
	case m.kind == turnBegins:
		return (atEnd || next.role || next.blank == 0 && !isUnspaced(text.last)) && text.last != '}'
	}
	return atEnd || next.newline || next.blank == 0 || endsSentence(text.last)
}

// endsBehindSpace is endsTurn for a token that begins a line, or follows a sentence and a space. template: what follows it
// belongs to a template, too.
func (b *body) endsBehindSpace(in *input, m mark, next following, template bool) bool {
	text := &b.text
	if b.mentions.any || text.solid == ':' || text.inLine && !(endsSentence(text.solid) && text.saysInLine()) {
		return false
	}
	if next.end && m.kind != turnBegins {
		return true
	}
	if next.goesOn() || text.isAboutTemplates() {
		return false
	}
	if m.kind == turnBegins || !template { // one that the prompt has may be in a new example of it
		if in.isQuoted(in.raw[:m.size]) {
			return false
		}
	}
	newTurn := next.end || template || next.newline || next.blank == 0
	return newTurn || m.kind == turnBegins && endsSentence(text.solid)
}
