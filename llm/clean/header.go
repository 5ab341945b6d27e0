// Headers of Cairn's messages that a model imitates at the start of its answer: in parts, in bold, as code.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// partHeader matches such a header: [#12], [14:05], [2026-11-28 14:05 Robin], **[#4 Robin]**. Its groups: number, date,
// time, name.
var partHeader = lazy.Pattern("^[*_`]{0,3}\\[(#\\d{1,12})?,? ?(\\d{4}-\\d\\d-\\d\\d)?,? ?(\\d\\d:\\d\\d(?::\\d\\d)?)?,? ?([^\\[\\]\\n]{0,80})\\][*_`]{0,3}:?[ \t]*\n?")

// mayBeHeader matches the beginning of one, with the label that may follow it.
var mayBeHeader = lazy.Pattern("^(?:[*_`]{1,3}|[*_`]{0,3}\\[(?:[#\\d][^\\[\\]\\n]{0,120}(?:\\][^\\n]{0,40}\n?)?)?)$")

// partOfHeader removes a header that has the bot's name, or that the bot's name follows as a label: "[14:05] Robin: Hello".
func (f *Filter) partOfHeader(final bool) verdict {
	const longest = 200 // bytes of it with the label
	front := f.raw[:min(len(f.raw), longest)]
	if f.textOnly || !strings.ContainsAny(front[:1], "[*_`") {
		return nothing
	}
	if !final && len(front) < longest && mayBeHeader().MatchString(front) {
		return unknown
	}
	at := partHeader().FindStringSubmatch(front)
	if at == nil || at[1]+at[2]+at[3] == "" {
		return nothing
	}
	behind := front[len(at[0]):]
	first, _ := utf8.DecodeRuneInString(behind)
	if name := at[4]; name == "" {
		label := strings.TrimLeft(behind, "*_")
		size := f.ownName(label)
		if size == 0 || labelEnd().FindString(label[size:]) == "" {
			return nothing
		}
	} else if size := f.ownName(name); size == 0 || size < len(name) && name[size] != ',' || unicode.IsLower(first) {
		return nothing
	}
	if f.isQuoted(at[0]) {
		return nothing
	}
	f.headed = true
	return f.strip(len(at[0]))
}

// isAboutHeader reports whether a sentence goes on behind a header at the start, in its line: it is about the message.
func isAboutHeader(header, behind string) (about, more bool) {
	if !strings.HasSuffix(strings.TrimRight(header, " "), "]") {
		return false, false
	}
	for _, verb := range []string{"is ", "was ", "says ", "said ", "has ", "ist ", "est ", "es ", "は", "是"} {
		about = about || strings.HasPrefix(behind, verb)
		more = more || strings.HasPrefix(verb, behind)
	}
	return about, more && !about
}

// ownName returns the size of the bot's name at the front of a text; 0 if it is not there.
func (f *Filter) ownName(text string) int {
	for _, name := range []string{f.Name, "Cairn"} {
		if name != "" && len(text) >= len(name) && strings.EqualFold(text[:len(name)], name) {
			return len(name)
		}
	}
	return 0
}
