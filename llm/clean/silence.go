// The sentinel with which a model says that it has nothing to add. People never see it, however it is wrapped.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// NoReply is what the system prompt asks for from a model that has nothing to add.
const NoReply = "NO_REPLY"

const (
	sentinel = `(?i:NO\\?_REPLY)`

	// wrapping is what models put around a word: punctuation, Markdown, tags, invisible characters.
	wrapping = "(?:[\\s\\pP\\pS\\p{Cf}]|</?\\w+>)*"

	// beginning is a part of the sentinel.
	beginning = `(?:NO?(?:[ ＿–-]{1,2}(?:R(?:E(?:P(?:LY?)?)?)?)?)?|(?i:NO\\?_?(?:_(?:R(?:E(?:P(?:LY?)?)?)?)?)?))`
)

var (
	hasSentinel = lazy.Pattern(sentinel)

	// sentinelLine matches a line that is only the sentinel, with a few words before it at most: "Final answer: **NO_REPLY**".
	sentinelLine = lazy.Pattern(`^` + wrapping + `(?:[\pL_][\pL_ ]{0,30}` + wrapping + `[:：]` + wrapping + `)?(?:` + sentinel + wrapping + `)+$`)

	// misspeltNoReply matches a text that is only the sentinel, with another mark between its words.
	misspeltNoReply = lazy.Pattern(`^` + wrapping + `NO[ _＿–-]{0,3}REPLY` + wrapping + `$`)

	// sentinelFirst matches a line that begins with the sentinel and gives reasons: "NO_REPLY: nobody asked".
	sentinelFirst = lazy.Pattern(`^` + wrapping + sentinel + "[`*_\"')\\]]*" + `(?:[.:,;!(]|\s+[-–—(])`)

	// sentinelLast matches the sentinel behind the last sentence of a text.
	sentinelLast = lazy.Pattern(`(^|[\s.!?…。！？])[\pP\pS]*` + sentinel + wrapping + `$`)

	// unfinished matches the end of a text that may become the sentinel: behind white space, or directly behind a sentence or a colon.
	unfinished = lazy.Pattern("(?:(?:^|\\s)(?:`{3,}\\w*\\n)?(?:[\\pP\\pS\\p{Cf}]|</?\\w+>)*(?:" + beginning + ")?|[.!?…。！？:：,;，；、–—\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Thai}](" + beginning + "))" + wrapping + "(?:</?\\w*)?$")

	// emptyFence matches a block of code without content.
	emptyFence = lazy.Pattern("(?m)^[ \\t]*(`{3,}|~{3,})\\w*[ \\t]*\\n(?:[ \\t]*\\n)*[ \\t]*(?:`{3,}|~{3,})[ \\t]*$")
)

// maxUnfinished limits the end of a text that waits, in bytes: the sentinel and its wrapping.
const maxUnfinished = 64

// WithoutNoReply removes the sentinel from a text, with the sentence that it is in, and white space around the text. In
// code, and as a part of another word, it is mentioned, and stays. writing: the model is still writing, and what may become the
// sentinel at the end is removed, too.
func WithoutNoReply(text string, writing bool) string {
	if writing {
		from := max(0, len(text)-maxUnfinished)
		if at := unfinished().FindStringSubmatchIndex(text[from:]); at != nil && (at[0] > 0 || from == 0) {
			text = text[:from+max(at[0], at[2])]
		}
	}
	text = strings.TrimSpace(text)
	if !hasSentinel().MatchString(text) {
		if misspeltNoReply().MatchString(text) {
			return ""
		}
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !isSentinelLine(line) && !sentinelFirst().MatchString(line) {
			kept = append(kept, line)
		}
	}
	without := withoutSentences(strings.TrimSpace(strings.Join(kept, "\n")))
	if first, _, _ := strings.Cut(text, "\n"); isSentinelLine(first) && isAside(without, writing) {
		return ""
	}
	const repeated = 3 // how often models repeat it at most
	for range repeated {
		if at := lastSentence(without); at >= 0 {
			without = strings.TrimSpace(without[:at])
		}
	}
	if without == text {
		return text
	}
	without = strings.TrimSpace(emptyFence().ReplaceAllString(without, ""))
	if IsResidue(without) { // tags in lines of their own
		return ""
	}
	return without
}

// isSentinelLine reports whether a line is only the sentinel, rather than a line of a program.
func isSentinelLine(line string) bool {
	return sentinelLine().MatchString(line) && !strings.Contains(line, "=")
}

// isAside reports whether a text is only a remark in parentheses, with which models explain why they are silent. writing: its
// end may follow.
func isAside(text string, writing bool) bool {
	bare := strings.Trim(text, "*_")
	if strings.Contains(bare, "\n") {
		return false
	}
	for _, around := range []string{"()", "[]", "（）"} {
		marks := []rune(around)
		if strings.HasPrefix(bare, string(marks[0])) && (writing || strings.HasSuffix(bare, string(marks[1]))) {
			return true
		}
	}
	return false
}

// withoutSentences drops the sentences that have the sentinel outside of code.
func withoutSentences(text string) string {
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	fence := ""
	for _, line := range lines {
		mark := fenceMark().FindString(line)
		switch {
		case fence == "":
			fence = mark
		case strings.HasPrefix(mark, fence):
			fence = ""
		}
		if mark == "" && fence == "" {
			without := withoutSentencesOf(line)
			if without != line && strings.Trim(without, " \t-*+>•") == "" {
				continue
			}
			line = without
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// fenceMark matches the mark that begins or ends a block of code.
var fenceMark = lazy.Pattern("^[ \\t]*(?:`{3,}|~{3,})")

// withoutSentencesOf is withoutSentences for a line.
func withoutSentencesOf(line string) string {
	var kept strings.Builder
	begin := 0 // of the sentence
	drop := false
	code := false
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		if r == '`' {
			code = !code
		}
		if found := sentinelAt(line[at:]); found > 0 && !code {
			drop = drop || isWord(line[:at], line[at+found:])
			size = found
		}
		at += size
		if at == len(line) || endsHere(r, line[at:]) {
			if !drop {
				kept.WriteString(line[begin:at])
			}
			begin = at
			drop = false
		}
	}
	return strings.TrimRight(kept.String(), " \t")
}

// sentinelAt returns the size of the sentinel, as the prompt writes it, at the front of a text; 0 if it is not there.
func sentinelAt(text string) int {
	for _, written := range []string{NoReply, `NO\_REPLY`} {
		if strings.HasPrefix(text, written) {
			return len(written)
		}
	}
	return 0
}

// endsHere reports whether a sentence ends with r, before rest.
func endsHere(r rune, rest string) bool {
	if strings.ContainsRune("。！？", r) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return strings.ContainsRune(".!?…", r) && unicode.IsSpace(next)
}

// isWord reports whether what is between two texts is a word of its own, rather than a part of a name, an address or a program.
func isWord(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	const joins = "_@/=+-\\$#&"
	if isASCIIWord(last) || isASCIIWord(next) || strings.ContainsRune(joins, last) || strings.ContainsRune("_@/=+(", next) {
		return false
	}
	if next == '.' || next == '-' {
		if behind, _ := utf8.DecodeRuneInString(after[1:]); isASCIIWord(behind) {
			return false
		}
	}
	if next := strings.TrimLeft(after, " "); next != "" && strings.ContainsAny(next[:1], "={}|&") || strings.HasSuffix(strings.TrimRight(before, " "), "=") {
		return false // a program
	}
	if last != '"' && last != '\'' {
		return true
	}
	before = strings.TrimRight(before[:len(before)-1], " ")
	return before == "" || !strings.ContainsAny(before[len(before)-1:], "=([{+")
}

func isASCIIWord(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// lastSentence returns where the sentinel begins that is a sentence of its own at the end of a text; -1 if there is none.
func lastSentence(text string) int {
	at := sentinelLast().FindStringSubmatchIndex(text)
	if at == nil {
		return -1
	}
	if tail := text[at[3]:]; strings.Contains(tail, "}") && !strings.Contains(tail, "{") || strings.Contains(tail, "=") { // a program
		return -1
	}
	before := strings.TrimRightFunc(text[:at[3]], unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(before)
	if before == "" || endsSentence(last) || strings.ContainsRune(":-–—,;", last) {
		return len(before)
	}
	return -1
}

// IsResidue reports whether a text says nothing but marks of templates, tags and the sentinel.
func IsResidue(text string) bool {
	text = WithoutNoReply(Text(text), false)
	for text != "" {
		switch m, _ := markAt(text, true); {
		case m.kind != none:
			text = text[m.size:]
			continue
		case anyTag().MatchString(text):
			text = text[len(anyTag().FindString(text)):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.So, r) {
			return false
		}
		text = text[size:]
	}
	return true
}

// anyTag matches a tag.
var anyTag = lazy.Pattern(`^</?[A-Za-z][^<>\n]{0,80}>`)
