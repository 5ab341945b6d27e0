// The start of an answer: what belongs to a template there is removed until the answer begins.

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// opening is what is before the answer.
type opening struct {
	traits   traits
	stripped bool            // something was removed
	lead     strings.Builder // the white space so far
}

// read looks for what belongs to a template, until there is none: then the answer begins.
func (o *opening) read(in *input) step {
	rest := strings.TrimLeftFunc(in.raw, unicode.IsSpace)
	o.lead.WriteString(in.take(len(in.raw) - len(rest)))
	if rest == "" {
		return step{verdict: handled}
	}
	for _, check := range []func(*input) step{
		o.headerLine, o.partOfHeader, o.botLabel, o.recipient, announcedThought, emphasizedThought, o.startMark, plainCall,
	} {
		if found := check(in); found.verdict != nothing {
			return found
		}
	}
	return step{verdict: beginAnswer}
}

// takeLead returns the white space before an answer from which nothing was removed.
func (o *opening) takeLead() string {
	lead := o.lead.String()
	o.lead.Reset()
	if o.stripped {
		return ""
	}
	return lead
}

// strip drops n bytes of the input.
func (o *opening) strip(in *input, n int) step {
	in.skip(n)
	o.stripped = true
	return step{verdict: handled}
}

// cairnHeader matches the header of a message in Cairn's prompt, and the first line of a summary there.
var cairnHeader = lazy.Pattern(`^\[#\d{1,12} (?:\d{4}-\d\d-\d\d )?\d\d:\d\d[^\[\]\n]{1,300}\]:?[ \t]*\n?|^assistant\n\n|^\[Compaction Summary\] [^\n]{0,200}#\d[^\n]{0,200}\n`)

// headerLine removes headers of messages and summaries. The model continues the prompt, which has them.
func (o *opening) headerLine(in *input) step {
	const longest = 420
	lost := "assistant\n\n" // a header whose tokens the server has removed (Llama 3)
	if !strings.HasPrefix(in.raw, "[#") && !agrees(in.raw, summaryMark) && !agrees(in.raw, lost) {
		return step{verdict: nothing}
	}
	if at := cairnHeader().FindStringIndex(in.raw[:min(len(in.raw), longest)]); at != nil {
		switch {
		case at[1] == len(in.raw) && !in.final:
			return step{verdict: unknown}
		case in.isQuoted(in.raw[:at[1]]):
			return step{verdict: nothing}
		}
		switch about, more := isAboutHeader(in.raw[:at[1]], in.raw[at[1]:]); {
		case more && !in.final:
			return step{verdict: unknown}
		case about:
			return step{verdict: nothing}
		}
		o.traits.headed = true
		return o.strip(in, at[1])
	}
	if !in.final && len(in.raw) < longest && (!strings.Contains(in.raw, "\n") || strings.HasPrefix(lost, in.raw)) {
		return step{verdict: unknown}
	}
	return step{verdict: nothing}
}

// recipient handles a header that begins with the recipient of the message: to=self<|message|> (Muse Glimmer), or with the
// channel, whose mark the template has: analysis<|message|> (gpt-oss).
func (o *opening) recipient(in *input) step {
	const (
		first = "to="
		mark  = "<|channel|>"
	)
	for _, channel := range []string{"analysis<|message|>", "commentary<|message|>", "final<|message|>"} {
		switch {
		case strings.HasPrefix(in.raw, channel):
			head, more := messageAt(mark+in.raw, in.final)
			if more {
				return step{verdict: unknown}
			}
			head.size = max(0, head.size-len(mark))
			return o.startMessage(in, head)
		case strings.HasPrefix(channel, in.raw) && !in.final:
			return step{verdict: unknown}
		}
	}
	switch {
	case strings.HasPrefix(in.raw, first):
		return o.readHeader(in)
	case strings.HasPrefix(first, in.raw) && !in.final:
		return step{verdict: unknown}
	}
	return step{verdict: nothing}
}

// startMark handles a mark at the start.
func (o *opening) startMark(in *input) step {
	if !opensMark[in.raw[0]] {
		return step{verdict: nothing}
	}
	m, more := markAt(in.raw, in.final)
	if more {
		return step{verdict: unknown}
	}
	if m.kind == none || m.kind == citation {
		return step{verdict: nothing}
	}
	next, more := followMark(in.raw, m, in.final)
	if more {
		return step{verdict: unknown}
	}
	switch m.kind {
	case thoughtOpens:
		isOpen := !next.saysOn() && !next.namesOn()
		return think(in, &thought{name: m.name, sure: m.sure, isOpen: isOpen}, m.size)
	case block:
		return o.startBlock(in, m)
	case callMark:
		if next.goesOn() || m.closes || in.textOnly {
			return step{verdict: nothing}
		}
		return hold(true, false)
	case header:
		return o.readHeader(in)
	case around:
		if answerTags[m.name] && !o.traits.reasoned {
			return step{verdict: nothing}
		}
		o.traits.wrapped = o.traits.wrapped || answerTags[m.name]
	case turnBegins:
		return o.startTurn(in, m, next)
	}
	if next.goesOn() || next.blank > 0 && !next.newline && !next.end && next.mark.kind == none {
		return step{verdict: nothing}
	}
	return o.strip(in, m.size)
}

// readHeader handles the header of a message at the front of the input.
func (o *opening) readHeader(in *input) step {
	head, more := messageAt(in.raw, in.final)
	if more {
		return step{verdict: unknown}
	}
	return o.startMessage(in, head)
}

// botRole and otherRole match the role, and the line break, behind a token that begins a turn.
var (
	botRole   = lazy.Pattern(`^ ?(?i:` + botRoles + `)[ \t]*(?:\n|$)|^ ?(?i:` + botRoles + `)[ \t]*([<\[])`)
	otherRole = lazy.Pattern(`^ ?(?i:` + otherRoles + `)[ \t]*(?:[\n<\[]|$)`)
)

// startTurn removes a token that begins the model's turn, with the role. Another role's is an example of a template.
func (o *opening) startTurn(in *input, m mark, next following) step {
	rest := in.raw[m.size:]
	front := rest[:min(len(rest), maxRole)]
	if !in.final && len(front) < maxRole && !strings.ContainsAny(front, "\n<[") && maybeRole(strings.TrimPrefix(front, " ")) {
		return step{verdict: unknown}
	}
	if at := botRole().FindStringSubmatchIndex(front); at != nil {
		size := at[1]
		if at[2] >= 0 { // the mark behind the role remains
			size = at[2]
		}
		return o.strip(in, m.size+size)
	}
	if otherRole().MatchString(front) || next.goesOn() || m.name == inst || m.name == "s" && !next.newline { // <s> is also HTML
		return step{verdict: nothing}
	}
	if next.blank > 0 && !next.newline && !next.end && next.mark.kind == none && unicode.IsLower(next.first) {
		return step{verdict: nothing}
	}
	return o.strip(in, m.size)
}
