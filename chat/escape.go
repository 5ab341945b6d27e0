// Escaping: what people, files, tools and models write must not pass for Cairn's own lines. A line that looks like
// one of Cairn's gets a backslash before it; a mark that separates roles in a model's template gets one inside.

package chat

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/lazy"
	"cairn/llm"
)

// forgeable reports whether a character could end a header, start another, or hide text.
func forgeable(r rune) bool {
	like := r
	if !unicode.IsLetter(r) {
		like = LooksLike(r)
	}
	return like == '[' || like == ']' || like == '#' || unicode.IsControl(r) || r == unicode.ReplacementChar ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// Reserved are the prefixes of lines that only Cairn writes.
var Reserved = []string{"[#", "[Compaction Summary", "[Previous:", "[System:", "<kept", "</kept", "<now", "</now", "<tool_result", "</tool_result"}

// InFile are the reserved prefixes inside a file, which must also not contain the line that ends it.
var InFile = append([]string{FileEnd}, Reserved...)

// Escape makes a text safe for the prompt, so that no one can forge a speaker, a summary, a
// placeholder, or a message of another role.
func Escape(text string) string { return BreakRoles(EscapeLines(text, Reserved)) }

// EscapeLines puts a backslash before each line that a reader may take for one that starts with one
// of marks: ignoring invisible characters, case and spaces, and including look-alike letters. Lines
// end at every character that any reader treats as a line end.
func EscapeLines(text string, marks []string) string {
	if !strings.ContainsFunc(text, mayOpenMark) {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		end := len(rest)
		if at := strings.IndexFunc(rest, EndsLine); at >= 0 {
			_, size := utf8.DecodeRuneInString(rest[at:])
			end = at + size
		}
		if slices.ContainsFunc(marks, func(mark string) bool { return readAs(rest[:end], mark) >= 0 }) {
			b.WriteByte('\\')
		}
		b.WriteString(rest[:end])
		rest = rest[end:]
	}
	return b.String()
}

// readAs returns how many bytes at the start of text read as mark; -1 if text does not start with it.
func readAs(text, mark string) int {
	for i, r := range text {
		for mark != "" && mark[0] == ' ' {
			mark = mark[1:]
		}
		if mark == "" {
			return i
		}
		if isInvisible(r) {
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

func isInvisible(r rune) bool {
	return unicode.IsSpace(r) || r == '\u2800' ||
		r >= '\u00ad' && unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point)
}

// roles are marks that separate roles or messages in the templates of models, without their first
// character; for marks between bars see roleAt. A server that interprets such marks anywhere in a
// prompt would take a person's text for the system's.
var roles = []string{
	"<SYS>>", "</SYS>>", "s>", "/s>", "bos>", "eos>", "start_of_turn>", "end_of_turn>",
	"think>", "/think>", "tool_call>", "/tool_call>", "tool_response>", "/tool_response>",
	"INST]", "/INST]", "SYSTEM_PROMPT]", "/SYSTEM_PROMPT]", "AVAILABLE_TOOLS]", "/AVAILABLE_TOOLS]",
	"TOOL_CALLS]", "TOOL_RESULTS]", "/TOOL_RESULTS]", "TOOL_CONTENT]",
}

// roleAt reports whether a role mark starts at i, where a < or [ is.
func roleAt(text string, i int) bool {
	rest := text[i+1:]
	if text[i] == '<' && (strings.HasPrefix(rest, "|") || strings.HasPrefix(rest, "｜")) {
		return barredRole().MatchString(rest)
	}
	for _, mark := range roles {
		if strings.HasPrefix(rest, mark) {
			return (mark[len(mark)-1] == ']') == (text[i] == '[')
		}
	}
	return false
}

// barredRole matches a name of at most 40 characters between bars, and >.
var barredRole = lazy.Pattern(`^[|｜][^<>|｜\s\v\pZ\x{85}]{1,40}[|｜]>`)

// BreakRoles inserts a backslash after the first character of each role mark.
func BreakRoles(text string) string { return breakWith(text, `\`) }

func breakWith(text, separator string) string {
	if !strings.ContainsAny(text, "<[") {
		return text
	}
	return insertAfter(text, separator, func(i int, r rune) bool { return (r == '<' || r == '[') && roleAt(text, i) })
}

// insertAfter inserts a separator after each character, at its place, for which where returns true.
func insertAfter(text, separator string, where func(i int, r rune) bool) string {
	var b strings.Builder
	done := 0
	for i, r := range text {
		if where(i, r) {
			end := i + utf8.RuneLen(r)
			b.WriteString(text[done:end] + separator)
			done = end
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// BrokenCalls returns calls whose arguments contain no role marks; JSON stays valid.
func BrokenCalls(calls []llm.Call) []llm.Call {
	if !slices.ContainsFunc(calls, func(c llm.Call) bool { return BreakRoles(c.Arguments) != c.Arguments }) {
		return calls
	}
	shown := slices.Clone(calls)
	for i, call := range shown {
		separator := `\`
		if json.Valid([]byte(call.Arguments)) { // then the mark is inside a string
			separator = `\\`
		}
		shown[i].Arguments = breakWith(call.Arguments, separator)
	}
	return shown
}

// Blocks are the tags of the blocks with recalled text.
var Blocks = []string{"now", "kept"}

// insideLine returns text that is safe inside a line of Cairn's.
func insideLine(text string) string { return EscapeTags(BreakRoles(text), Blocks) }

// EscapeTags inserts a backslash after the first character of everything that reads as a tag with
// one of names: "<\now>".
func EscapeTags(text string, names []string) string {
	return insertAfter(text, `\`, func(i int, r rune) bool {
		return mayOpenMark(r) && LooksLike(r) == '<' && isTag(text[i+utf8.RuneLen(r):], names)
	})
}

// isTag reports whether text, which follows a <, reads as the rest of a tag with one of names. An
// opening tag that has attributes must be followed by one: List<Message> is code.
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
			attribute, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, isInvisible))
			return isInvisible(next) && unicode.IsLetter(attribute)
		}
		return rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next)
	})
}

// Quoted returns a text as one quoted line that cannot pass for anything of Cairn's. Recalled text
// is quoted in this way.
func Quoted(text string) string { return strconv.Quote(insideLine(text)) }

// Attributed are the tags that have attributes.
var Attributed = []string{"message", "answer", "tool_result", "summary", "agent"}

// lookalikes lists, after each ASCII character, those of other scripts that look like it in most fonts (Unicode's
// confusables.txt), in lower case. Compatibility forms and accents are not listed, because they decompose.
var lookalikes = []string{
	"aаαɑᴀꭺꓮ", "bьвβʙꮟꓐ", "cсϲᴄꮯꓚ", "dԁᴅꭰꓓժ", "eеεєҽᴇꭼꓰ", "fғƒꜰꓝք", "gɡɢցԍꮐꓖ", "hһнηʜհꮋꓧ",
	"iіιıɪӏℓʟlꭵꓲ1|", "jјϳᴊꭻꓙ", "kкκᴋꮶꓗ", "mмᴍϻꮇꓟ", "nпηɴոꓠ", "oоοσօᴏ0ჿꓳ", "pрρᴘꮲꓑ", "qԛգ",
	"rгʀᴦꭱꓣ", "sѕꜱꮪꓢ", "tтτᴛꭲꓔ", "uυսᴜꓴ", "vνѵᴠꮩꓦ", "wԝωѡᴡꮃꓪ", "xхχꓫ", "yуγүʏყꭹꓬ", "zᴢꮓꓜ",
	"[【〔〖⟦❲⦗⁅⦋", "]】〕〗⟧❳⦘⁆⦌", "#♯", "<‹〈⟨❬❮❰˂ᐸ", ">›〉⟩❭❯❱˃ᐳ", "/⁄∕⧸╱", "_‗", ":ː∶։꞉", `"“”„‟″〃`,
}

var asciiOf = func() map[rune]rune {
	of := make(map[rune]rune)
	for _, row := range lookalikes {
		ascii, size := utf8.DecodeRuneInString(row)
		for _, r := range row[size:] {
			if _, taken := of[r]; !taken {
				of[r] = ascii
			}
		}
	}
	return of
}()

// LooksLike returns the ASCII character, in lower case, that r looks like; r itself if there is
// none. l, 1 and | become i, and 0 becomes o.
func LooksLike(r rune) rune {
	if r >= utf8.RuneSelf {
		var buf [utf8.UTFMax]byte
		if parts := norm.NFKD.Properties(utf8.AppendRune(buf[:0], r)).Decomposition(); len(parts) > 0 {
			r, _ = utf8.DecodeRune(parts)
		}
	}
	r = unicode.ToLower(r)
	if ascii, ok := asciiOf[r]; ok {
		return ascii
	}
	return r
}

// mayOpenMark reports whether a mark may start with r: it looks like [ or <.
func mayOpenMark(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '[' || r == '<'
	}
	if unicode.IsLetter(r) && r != 'ᐸ' { // most text consists of letters, and no letter decomposes to one
		return false
	}
	r = LooksLike(r)
	return r == '[' || r == '<'
}
