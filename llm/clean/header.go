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
func (o *opening) partOfHeader(in *input) step {
	const longest = 200 // bytes of it with the label
	front := in.raw[:min(len(in.raw), longest)]
	if in.textOnly || !strings.ContainsAny(front[:1], "[*_`") {
		return step{verdict: nothing}
	}
	if !in.final && len(front) < longest && mayBeHeader().MatchString(front) {
		return step{verdict: unknown}
	}
	at := partHeader().FindStringSubmatch(front)
	if at == nil || at[1]+at[2]+at[3] == "" {
		return step{verdict: nothing}
	}
	behind := front[len(at[0]):]
	first, _ := utf8.DecodeRuneInString(behind)
	if name := at[4]; name == "" {
		label := strings.TrimLeft(behind, "*_")
		size := in.botName(label)
		if size == 0 || labelEnd().FindString(label[size:]) == "" {
			return step{verdict: nothing}
		}
	} else if size := in.botName(name); size == 0 || size < len(name) && name[size] != ',' || unicode.IsLower(first) {
		return step{verdict: nothing}
	}
	if in.isQuoted(at[0]) {
		return step{verdict: nothing}
	}
	o.traits.headed = true
	return o.strip(in, len(at[0]))
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
