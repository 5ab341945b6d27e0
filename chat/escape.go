// What keeps the words of people, files, tools and models apart from Cairn's own: a
// line that looks like one of Cairn's gets a backslash before it, and a mark by which
// servers tell roles apart gets one inside.

package chat

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/llm"
)

// forges reports a character that could end a header, begin another, or hide.
func forgeable(r rune) bool {
	like := r
	if !unicode.IsLetter(r) {
		like = LooksLike(r)
	}
	return like == '[' || like == ']' || like == '#' || unicode.IsControl(r) || r == unicode.ReplacementChar ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// Reserved are the beginnings of lines that only Cairn writes.
var Reserved = []string{"[#", SummaryMark, "[System:", "<kept", "</kept", "<now", "</now", "<tool_result", "</tool_result"}

// InFile are those inside a file, which ends where Cairn says so.
var InFile = append([]string{FileEnd}, Reserved...)

// Escape makes a text safe to stand in a view, so that nobody can forge a speaker, a
// summary, a placeholder, or a message of another role.
func Escape(text string) string { return BreakRoles(EscapeLines(text, Reserved)) }

// EscapeLines puts a backslash before each line that a reader may take for one that
// begins with one of marks: whatever invisible characters are there, in whatever case, with blanks
// or in letters that look the same. A line ends at whatever may end one for some reader.
func EscapeLines(text string, marks []string) string {
	if !strings.ContainsFunc(text, opens) {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		end := len(rest)
		if at := strings.IndexFunc(rest, EndsLine); at >= 0 {
			_, size := utf8.DecodeRuneInString(rest[at:])
			end = at + size
		}
		if slices.ContainsFunc(marks, func(mark string) bool { return beginsLike(rest[:end], mark) }) {
			b.WriteByte('\\')
		}
		b.WriteString(rest[:end])
		rest = rest[end:]
	}
	return b.String()
}

// beginsLike reports whether a line reads as if it began with mark.
func beginsLike(line, mark string) bool { return readAs(line, mark) >= 0 }

// readAs returns how many bytes of text read as mark, -1 if it does not begin so.
func readAs(text, mark string) int {
	for i, r := range text {
		for mark != "" && mark[0] == ' ' {
			mark = mark[1:]
		}
		if mark == "" {
			return i
		}
		if unseen(r) {
			continue
		}
		if LooksLike(r) != LooksLike(rune(mark[0])) {
			return -1
		}
		mark = mark[1:]
	}
	if mark == "" {
		return len(text)
	}
	return -1
}

func EndsLine(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// unseen reports characters that are invisible by themselves.
func unseen(r rune) bool {
	return unicode.IsSpace(r) || r == '\u2800' ||
		r >= '\u00ad' && unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point)
}

// roles are, behind their first character, the marks by which the templates of models
// tell one role, or one message, from the next; others stand between bars, see roleAt. A
// server that reads its template's marks wherever they stand would take what somebody
// wrote for the system's words.
var roles = []string{
	"<SYS>>", "</SYS>>", "s>", "/s>", "bos>", "eos>", "start_of_turn>", "end_of_turn>",
	"think>", "/think>", "tool_call>", "/tool_call>", "tool_response>", "/tool_response>",
	"INST]", "/INST]", "SYSTEM_PROMPT]", "/SYSTEM_PROMPT]", "AVAILABLE_TOOLS]", "/AVAILABLE_TOOLS]",
	"TOOL_CALLS]", "TOOL_RESULTS]", "/TOOL_RESULTS]", "TOOL_CONTENT]",
}

// roleAt reports whether such a mark begins at i, where a < or [ is.
func roleAt(text string, i int) bool {
	rest := text[i+1:]
	if bar, wide := strings.HasPrefix(rest, "|"), strings.HasPrefix(rest, "｜"); text[i] == '<' && (bar || wide) {
		return barred(rest)
	}
	for _, mark := range roles {
		if strings.HasPrefix(rest, mark) {
			return (mark[len(mark)-1] == ']') == (text[i] == '[')
		}
	}
	return false
}

// barred reports whether text, which begins with a bar, continues with at most 40
// characters of a name, a bar and >.
func barred(text string) bool {
	n := 0
	for i, r := range text {
		switch {
		case i == 0:
		case r == '|' || r == '｜':
			return n > 0 && strings.HasPrefix(text[i+utf8.RuneLen(r):], ">")
		case r == '<' || r == '>' || unicode.IsSpace(r) || n == 40:
			return false
		default:
			n++
		}
	}
	return false
}

// BreakRoles puts a backslash behind the first character of each such mark.
func BreakRoles(text string) string { return breakWith(text, `\`) }

func breakWith(text, separator string) string {
	var b strings.Builder
	done := 0
	for i := range len(text) {
		if c := text[i]; (c == '<' || c == '[') && roleAt(text, i) {
			b.WriteString(text[done:i+1] + separator)
			done = i + 1
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// BrokenCalls are calls whose arguments hold no such mark; JSON stays JSON.
func BrokenCalls(calls []llm.Call) []llm.Call {
	shown := calls
	for i, call := range calls {
		if BreakRoles(call.Arguments) == call.Arguments {
			continue
		}
		if &shown[0] == &calls[0] {
			shown = slices.Clone(calls)
		}
		separator := `\`
		if json.Valid([]byte(call.Arguments)) { // then a mark is inside a string
			separator = `\\`
		}
		shown[i].Arguments = breakWith(call.Arguments, separator)
	}
	return shown
}

// Blocks are the tags of the blocks that hold what is recalled.
var Blocks = []string{"now", "kept"}

// insideLine is a text within a line of Cairn's.
func insideLine(text string) string { return EscapeTags(BreakRoles(text), Blocks) }

// EscapeTags puts a backslash into whatever reads as the tag of one of names, behind its
// first character: "<\now>".
func EscapeTags(text string, names []string) string {
	var b strings.Builder
	done := 0
	for i, r := range text {
		if at := i + utf8.RuneLen(r); opens(r) && LooksLike(r) == '<' && isTag(text[at:], names) {
			b.WriteString(text[done:at] + `\`)
			done = at
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// isTag reports whether text, which follows a <, reads as the rest of a tag of one of
// names. A tag that has attributes opens with one: List<Message> is code.
func isTag(text string, names []string) bool {
	closes := readAs(text, "/")
	if closes >= 0 {
		text = text[closes:]
	}
	return slices.ContainsFunc(names, func(name string) bool {
		n := readAs(text, name)
		if n < 0 {
			return false
		}
		rest := text[n:]
		next, _ := utf8.DecodeRuneInString(rest)
		if closes < 0 && slices.Contains(Attributed, name) {
			attribute, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, unseen))
			return unseen(next) && unicode.IsLetter(attribute)
		}
		return rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next)
	})
}

// Quoted is a text in one line, between quotes, that cannot pass for anything of
// Cairn's: so it is for what is recalled, behind the last message.
func Quoted(text string) string {
	return strconv.Quote(insideLine(text))
}

// Attributed are the labels that have attributes.
var Attributed = []string{"message", "answer", "tool_result", "summary", "agent"}
