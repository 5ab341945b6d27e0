// The answer itself: marks in it are removed if what is around them says that they are no part of what it says.

package clean

import (
	"strings"
	"unicode"
)

// body moves raw into the text up to what may be a mark, and decides about that.
func (f *Filter) body(final bool) bool {
	if f.fence != "" {
		return f.fenced(final)
	}
	switch next, more := f.nextLabel(final); {
	case more:
		return false
	case next:
		f.end()
		return true
	}
	if holds, more := f.laterAction(final); holds || more {
		return holds
	}
	f.take(indexMark(f.raw))
	if f.raw == "" {
		return true
	}
	switch f.raw[0] {
	case '\n':
		if !f.inLine { // the end of a paragraph
			f.inline = 0
		}
		f.take(1)
		return true
	case '`', '~':
		return f.ticks(final)
	}
	m, more := markAt(f.raw, final)
	if more {
		return false
	}
	if m.kind == none {
		return f.noMark(final)
	}
	code, more := f.isCode(m, final)
	switch {
	case more:
		return false
	case code:
		return f.quote(m)
	}
	return f.bodyMark(m, final)
}

// noMark handles what only begins like a mark.
func (f *Filter) noMark(final bool) bool {
	if holds, more := f.laterElement(final); holds || more {
		return holds
	}
	next, more := f.nextHeader(final)
	switch {
	case more:
		return false
	case next, final && f.isCutMark():
		f.end()
	default:
		name := ident().FindString(f.raw[1:min(len(f.raw), maxMark)])
		f.openSeen = f.openSeen || f.raw[0] == '<' && thoughtTags[strings.ToLower(name)] // with attributes
		f.takeRune()
	}
	return true
}

// bodyMark decides about a mark outside of code.
func (f *Filter) bodyMark(m mark, final bool) bool {
	next, more := followMark(f.raw, m, final)
	if more {
		return false
	}
	switch m.kind {
	case thoughtOpens:
		return f.laterThought(m, next)
	case thoughtEnds:
		return f.bareEnd(m, next)
	case turnEnds, turnBegins, special:
		return f.turn(m, next, final)
	case header:
		return f.laterChannel(m, next, final)
	case callMark:
		return f.laterCall(m, next)
	case block:
		return f.laterBlock(m, next, final)
	case around:
		return f.unwrap(m, next)
	case citation:
		return f.dropCitation(m, next)
	}
	return f.mention(m, next)
}

// quote moves a mark into the text: the text is about it.
func (f *Filter) quote(m mark) bool {
	f.about = true
	f.openSeen = f.openSeen || m.kind == thoughtOpens
	f.blockSeen = f.blockSeen || m.kind == block
	f.take(m.size)
	return true
}

// inst is the name of [INST] and [/INST], in which a line often has a whole example.
const inst = "inst"

// mention moves a mark outside of code into the text. It may be a part of an example of a template, up to the next end of a
// turn.
func (f *Filter) mention(m mark, next following) bool {
	switch begins := next.mark.kind == turnBegins; {
	case m.name == inst && !m.closes, m.kind == header && m.name == "start",
		m.kind == turnBegins && !next.goesOn() && (next.blank == 0 || next.newline || begins || f.isAboutTemplates()):
		f.example = m.name
	case m.kind == turnEnds && m.name != inst:
		f.example = ""
	}
	f.headSeen = f.headSeen || m.kind == header
	return f.quote(m)
}

// laterThought handles a thought behind some text: it begins a line, or follows a sentence directly.
func (f *Filter) laterThought(m mark, next following) bool {
	ended := endsSentence(f.solid) && !strings.ContainsRune(")]}|>`", f.solid)
	follows := ended && !(f.inLine && unicode.IsSpace(f.last))
	another := f.Reasoned && f.isOwnLine() // the model writes its thoughts in marks
	if f.about || m.open || !follows && !another || next.goesOn() || m.sure == unlisted || next.end && m.sure != known {
		return f.mention(m, next)
	}
	if f.inLine { // as (?<think>…) in a pattern
		m.sure = paired
	}
	f.think(m, true)
	return true
}

// bareEnd handles the end of a thought that has no mark at its beginning: the template has it, and the server sends only
// what follows. All before it is the thought.
func (f *Filter) bareEnd(m mark, next following) bool {
	alone := !f.inLine && (next.newline || next.end)
	glued := f.inLine && f.isGlued() && !strings.ContainsRune("`|>", f.last)
	spaced := f.inLine && unicode.IsSpace(f.last) && endsSentence(f.solid) && (next.newline || next.end)
	switch {
	case m.sure != known || f.openSeen || f.solid == ':',
		f.about && !(alone && strings.Contains(f.raw[m.size:m.size+next.blank], "\n\n")),
		!alone && !spaced && !glued, next.goesOn(), glued && next.blank > 0 && !next.newline && !next.end:
		return f.mention(m, next)
	}
	f.skip(m.size)
	f.takeBack()
	return true
}

// unwrap removes marks that are around the answer or a part of it.
func (f *Filter) unwrap(m mark, next following) bool {
	inside := !m.closes && next.blank == 0 && !next.end || m.closes && !unicode.IsSpace(f.last) || !f.inLine
	switch {
	case answerTags[m.name]:
		inside = m.closes && (f.wrapped || next.end && !unicode.IsSpace(f.last) && !strings.Contains(f.out.String(), "<"+m.name+" "))
	case !m.closes && (strings.ContainsRune(",;:)", next.first) || !f.isGlued() && !unicode.IsSpace(f.last)):
		inside = false
	}
	if f.about || !inside {
		return f.mention(m, next)
	}
	f.wrapped = f.wrapped && !answerTags[m.name]
	f.skip(m.size)
	return true
}

// isCutMark reports whether raw is the first part of a known token that the end of the answer has cut off.
func (f *Filter) isCutMark() bool {
	barred := strings.HasPrefix(f.raw, "<|") || strings.HasPrefix(f.raw, "<｜")
	if !barred || len(f.raw) < 3 || f.about || f.inline > 0 || !f.isGlued() {
		return false
	}
	for token := range ends {
		if strings.HasPrefix(token, strings.ToLower(f.raw)) {
			return true
		}
	}
	return false
}

// nextHeader reports whether raw is the header of the next message: the model has written the conversation on, with what
// nobody has said. Behind an answer that began without a header, the prompt must not have such a message.
func (f *Filter) nextHeader(final bool) (found, more bool) {
	const longest = 400
	if f.inLine || f.raw[0] != '[' || f.solid == ':' || f.solid == 0 || f.inline > 0 || f.isIndented() {
		return false, false
	}
	front := f.raw[:min(len(f.raw), longest)]
	if head := ownHeader().FindString(front); head != "" {
		number, _, isMessage := strings.Cut(head, " ")
		isMessage = isMessage && strings.HasPrefix(number, "[#")
		isNew := f.headed || (endsSentence(f.solid) || strings.HasSuffix(f.out.String(), "\n\n")) && !f.isAboutTemplates() && !(isMessage && f.isQuoted(number))
		return isNew && !f.isQuoted(head), false
	}
	return false, !final && len(front) < longest && (agrees(front, "[#") || agrees(front, summaryMark)) && !strings.Contains(front, "\n")
}
