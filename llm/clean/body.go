// The answer itself: marks in it are removed if what is around them says that they are no part of what it says.

package clean

import (
	"strings"
	"unicode"
)

// body is the answer from its first word on.
type body struct {
	text     page
	code     code
	mentions mentions
	traits   traits
	gap      bool // something was removed from the middle: the white space behind it goes, too
}

// traits are the form in which the model has written so far.
type traits struct {
	reasoned     bool // a thought was removed
	headed       bool // the answer began with a header of Cairn's
	labelled     bool // the answer began with the model's name or role
	wrapped      bool // the answer is in tags that follow a thought
	channels     bool // the answer has come in a channel
	messageEnded bool // the message in a channel has just ended
	plainHeld    int  // how often something behind text was held back that has no mark
}

// read moves the input into the text up to what may be a mark, and decides about that.
func (b *body) read(in *input) step {
	switch {
	case b.gap:
		return b.skipBlank(in)
	case b.code.fence != "":
		return b.readFenced(in)
	}
	switch found, more := b.nextLabel(in); {
	case more:
		return step{verdict: unknown}
	case found:
		return step{verdict: endAnswer}
	}
	if found := b.laterAction(in); found.verdict != nothing {
		return found
	}
	b.take(in, indexMark(in.raw))
	if in.raw == "" {
		return step{verdict: handled}
	}
	switch in.raw[0] {
	case '\n':
		if !b.text.inLine { // the end of a paragraph
			b.code.inline = 0
		}
		b.take(in, 1)
		return step{verdict: handled}
	case '`', '~':
		return b.readTicks(in)
	}
	return b.readMark(in)
}

// take moves n bytes of the input into the text.
func (b *body) take(in *input, n int) { b.text.put(in.take(n)) }

// skipBlank drops the white space behind something that was removed from the middle.
func (b *body) skipBlank(in *input) step {
	rest := strings.TrimLeftFunc(in.raw, unicode.IsSpace)
	blank := in.take(len(in.raw) - len(rest))
	if b.text.solid == b.text.last { // no white space is before it
		b.text.put(blank)
	}
	b.gap = rest == ""
	return step{verdict: handled}
}

// readMark decides about what begins like a mark.
func (b *body) readMark(in *input) step {
	m, more := markAt(in.raw, in.final)
	switch {
	case more:
		return step{verdict: unknown}
	case m.kind == none:
		return b.noMark(in)
	}
	code := b.text.isIndented()
	if !code {
		code, more = b.code.isAround(in.raw[m.size:], in.final)
	}
	switch {
	case more:
		return step{verdict: unknown}
	case code:
		return b.quote(in, m)
	}
	return b.judgeMark(in, m)
}

// noMark handles what only begins like a mark.
func (b *body) noMark(in *input) step {
	if found := b.laterElement(in); found.verdict != nothing {
		return found
	}
	next, more := b.nextHeader(in)
	switch {
	case more:
		return step{verdict: unknown}
	case next, in.final && b.isCutMark(in.raw):
		return step{verdict: endAnswer}
	}
	name := ident().FindString(in.raw[1:min(len(in.raw), maxMark)])
	if in.raw[0] == '<' && thoughtTags[strings.ToLower(name)] { // with attributes
		b.mentions.thoughts = true
	}
	b.take(in, runeSize(in.raw))
	return step{verdict: handled}
}

// judgeMark decides about a mark outside of code.
func (b *body) judgeMark(in *input, m mark) step {
	next, more := followMark(in.raw, m, in.final)
	if more {
		return step{verdict: unknown}
	}
	switch m.kind {
	case thoughtOpens:
		return b.laterThought(in, m, next)
	case thoughtEnds:
		return b.bareEnd(in, m, next)
	case turnEnds, turnBegins, special:
		return b.turn(in, m, next)
	case header:
		return b.laterMessage(in, m, next)
	case callMark:
		return b.laterCall(in, m, next)
	case block:
		return b.laterBlock(in, m, next)
	case around:
		return b.unwrap(in, m, next)
	case citation:
		return b.dropCitation(in, m, next)
	}
	return b.mention(in, m, next)
}

// laterThought handles a thought behind some text: it begins a line, or follows a sentence directly.
func (b *body) laterThought(in *input, m mark, next following) step {
	text := &b.text
	ended := endsSentence(text.solid) && !strings.ContainsRune(")]}|>`", text.solid)
	follows := ended && !(text.inLine && unicode.IsSpace(text.last))
	another := b.traits.reasoned && text.isNewLine() // the model writes its thoughts in marks
	if b.mentions.any || m.open || !follows && !another || next.goesOn() || m.sure == unlisted || next.end && m.sure != known {
		return b.mention(in, m, next)
	}
	if text.inLine { // as (?<think>…) in a pattern
		m.sure = paired
	}
	return think(in, &thought{name: m.name, sure: m.sure, isOpen: true, inBody: true}, m.size)
}

// bareEnd handles the end of a thought that has no mark at its beginning: the template has it, and the server sends only
// what follows. All before it is the thought.
func (b *body) bareEnd(in *input, m mark, next following) step {
	text := &b.text
	alone := !text.inLine && (next.newline || next.end)
	glued := text.inLine && text.isGlued() && !strings.ContainsRune("`|>", text.last)
	spaced := text.inLine && unicode.IsSpace(text.last) && endsSentence(text.solid) && (next.newline || next.end)
	switch {
	case m.sure != known || b.mentions.thoughts || text.solid == ':',
		b.mentions.any && !(alone && strings.Contains(in.raw[m.size:m.size+next.blank], "\n\n")),
		!alone && !spaced && !glued, next.goesOn(), glued && next.blank > 0 && !next.newline && !next.end:
		return b.mention(in, m, next)
	}
	in.skip(m.size)
	return step{verdict: takeBack}
}

// unwrap removes marks that are around the answer or a part of it.
func (b *body) unwrap(in *input, m mark, next following) step {
	text := &b.text
	inside := !m.closes && next.blank == 0 && !next.end || m.closes && !unicode.IsSpace(text.last) || !text.inLine
	switch {
	case answerTags[m.name]:
		inside = m.closes && (b.traits.wrapped || next.end && !unicode.IsSpace(text.last) && !strings.Contains(text.out.String(), "<"+m.name+" "))
	case !m.closes && (strings.ContainsRune(",;:)", next.first) || !text.isGlued() && !unicode.IsSpace(text.last)):
		inside = false
	}
	if b.mentions.any || !inside {
		return b.mention(in, m, next)
	}
	b.traits.wrapped = b.traits.wrapped && !answerTags[m.name]
	in.skip(m.size)
	return step{verdict: handled}
}

// isCutMark reports whether what is left is the first part of a known token that the end of the answer has cut off.
func (b *body) isCutMark(left string) bool {
	barred := strings.HasPrefix(left, "<|") || strings.HasPrefix(left, "<｜")
	if !barred || len(left) < 3 || b.mentions.any || b.code.inline > 0 || !b.text.isGlued() {
		return false
	}
	for token := range ends {
		if strings.HasPrefix(token, strings.ToLower(left)) {
			return true
		}
	}
	return false
}

// nextHeader reports whether the input is the header of the next message: the model has written the conversation on, with
// messages that nobody wrote. Behind an answer that began without a header, the prompt must not have such a message.
func (b *body) nextHeader(in *input) (found, more bool) {
	const longest = 400
	text := &b.text
	if text.inLine || in.raw[0] != '[' || text.solid == ':' || text.solid == 0 || b.code.inline > 0 || text.isIndented() {
		return false, false
	}
	front := in.raw[:min(len(in.raw), longest)]
	if head := cairnHeader().FindString(front); head != "" {
		number, _, isMessage := strings.Cut(head, " ")
		isMessage = isMessage && strings.HasPrefix(number, "[#")
		ended := endsSentence(text.solid) || strings.HasSuffix(text.out.String(), "\n\n")
		isNew := b.traits.headed || ended && !text.isAboutTemplates() && !(isMessage && in.isQuoted(number))
		return isNew && !in.isQuoted(head), false
	}
	return false, !in.final && len(front) < longest && (agrees(front, "[#") || agrees(front, summaryMark)) && !strings.Contains(front, "\n")
}
