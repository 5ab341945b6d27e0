// The start of an answer: what belongs to a template there is removed until the answer begins.

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// verdict is what a check of the front of raw has found.
type verdict int

const (
	nothing verdict = iota
	unknown         // it takes more text to know
	handled         // raw or the mode was changed
)

// start looks for what belongs to a template, until there is none: then the answer begins.
func (f *Filter) start(final bool) bool {
	rest := strings.TrimLeftFunc(f.raw, unicode.IsSpace)
	f.lead.WriteString(f.raw[:len(f.raw)-len(rest)])
	f.raw = rest
	if rest == "" {
		return true
	}
	for _, check := range []func(*Filter, bool) verdict{(*Filter).ownLine, (*Filter).partOfHeader, (*Filter).ownLabel, (*Filter).recipient, (*Filter).announcedThought, (*Filter).emphasizedThought, (*Filter).startMark, (*Filter).plainCall} {
		switch check(f, final) {
		case unknown:
			return false
		case handled:
			return true
		}
	}
	f.begin()
	return true
}

// begin begins the answer.
func (f *Filter) begin() {
	f.mode = (*Filter).body
	if !f.stripped {
		f.put(f.lead.String())
	}
	f.lead.Reset()
}

// strip drops n bytes of raw at the start.
func (f *Filter) strip(n int) verdict {
	f.skip(n)
	f.stripped = true
	return handled
}

// ownHeader matches the header of a message in Cairn's prompt, and the first line of a summary there.
var ownHeader = lazy.Pattern(`^\[#\d{1,12} (?:\d{4}-\d\d-\d\d )?\d\d:\d\d[^\[\]\n]{1,300}\]:?[ \t]*\n?|^assistant\n\n|^\[Compaction Summary\] [^\n]{0,200}#\d[^\n]{0,200}\n`)

// ownLine removes headers of messages and summaries. The model continues the prompt, which has them.
func (f *Filter) ownLine(final bool) verdict {
	const longest = 420
	lost := "assistant\n\n" // a header whose tokens the server has removed (Llama 3)
	if !strings.HasPrefix(f.raw, "[#") && !agrees(f.raw, summaryMark) && !agrees(f.raw, lost) {
		return nothing
	}
	if at := ownHeader().FindStringIndex(f.raw[:min(len(f.raw), longest)]); at != nil {
		switch {
		case at[1] == len(f.raw) && !final:
			return unknown
		case f.isQuoted(f.raw[:at[1]]):
			return nothing
		}
		switch about, more := isAboutHeader(f.raw[:at[1]], f.raw[at[1]:]); {
		case more && !final:
			return unknown
		case about:
			return nothing
		}
		f.headed = true
		return f.strip(at[1])
	}
	if !final && len(f.raw) < longest && (!strings.Contains(f.raw, "\n") || strings.HasPrefix(lost, f.raw)) {
		return unknown
	}
	return nothing
}

// isQuoted reports whether a text is in the prompt.
func (f *Filter) isQuoted(text string) bool { return f.Quoted != nil && f.Quoted(text) }

// recipient handles a header that begins with the recipient of the message: to=self<|message|> (Muse Glimmer), or with the
// channel, whose mark the template has: analysis<|message|> (gpt-oss).
func (f *Filter) recipient(final bool) verdict {
	const first = "to="
	for _, channel := range []string{"analysis<|message|>", "commentary<|message|>", "final<|message|>"} {
		switch {
		case strings.HasPrefix(f.raw, channel):
			without := f.raw
			f.raw = "<|channel|>" + without
			found := f.channelHeader(final)
			if found != handled {
				f.raw = without
			}
			return found
		case strings.HasPrefix(channel, f.raw) && !final:
			return unknown
		}
	}
	switch {
	case strings.HasPrefix(f.raw, first):
		return f.channelHeader(final)
	case strings.HasPrefix(first, f.raw) && !final:
		return unknown
	}
	return nothing
}

// startMark handles a mark at the start.
func (f *Filter) startMark(final bool) verdict {
	if !opensMark[f.raw[0]] {
		return nothing
	}
	m, more := markAt(f.raw, final)
	if more {
		return unknown
	}
	if m.kind == none || m.kind == citation {
		return nothing
	}
	next, more := followMark(f.raw, m, final)
	if more {
		return unknown
	}
	switch m.kind {
	case thoughtOpens:
		f.think(m, !next.saysOn() && !next.namesOn())
		return handled
	case block:
		return f.startBlock(m, final)
	case callMark:
		if next.goesOn() || m.closes || f.textOnly {
			return nothing
		}
		return f.hold(true)
	case header:
		return f.channelHeader(final)
	case around:
		if answerTags[m.name] && !f.Reasoned {
			return nothing
		}
		f.wrapped = f.wrapped || answerTags[m.name]
	case turnBegins:
		return f.startTurn(m, next, final)
	}
	if next.goesOn() || next.blank > 0 && !next.newline && !next.end && next.mark.kind == none {
		return nothing
	}
	return f.strip(m.size)
}

// startHeader matches the role, and the line break, behind a token that begins a turn.
var (
	ownRole   = lazy.Pattern(`^ ?(?i:` + own + `)[ \t]*(?:\n|$)|^ ?(?i:` + own + `)[ \t]*([<\[])`)
	otherRole = lazy.Pattern(`^ ?(?i:` + others + `)[ \t]*(?:[\n<\[]|$)`)
)

// startTurn removes a token that begins the model's turn, with the role. Another role's is an example of a template.
func (f *Filter) startTurn(m mark, next following, final bool) verdict {
	rest := f.raw[m.size:]
	front := rest[:min(len(rest), maxRole)]
	if !final && len(front) < maxRole && !strings.ContainsAny(front, "\n<[") && maybeRole(strings.TrimPrefix(front, " ")) {
		return unknown
	}
	if at := ownRole().FindStringSubmatchIndex(front); at != nil {
		size := at[1]
		if at[2] >= 0 { // the mark behind the role remains
			size = at[2]
		}
		return f.strip(m.size + size)
	}
	if otherRole().MatchString(front) || next.goesOn() || m.name == inst || m.name == "s" && !next.newline { // <s> is also HTML
		return nothing
	}
	if next.blank > 0 && !next.newline && !next.end && next.mark.kind == none && unicode.IsLower(next.first) {
		return nothing
	}
	return f.strip(m.size)
}
