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

	// misspelt matches a text that is only the sentinel, with another mark between its words.
	misspelt = lazy.Pattern(`^` + wrapping + `NO[ _＿–-]{0,3}REPLY` + wrapping + `$`)

	// sentinelFirst matches a line that begins with the sentinel and gives reasons: "NO_REPLY: nobody asked".
	sentinelFirst = lazy.Pattern(`^` + wrapping + sentinel + "[`*_\"')\\]]*" + `(?:[.:,;!(]|\s+[-–—(])`)

	// sentinelLast matches the sentinel behind the last sentence of a text.
	sentinelLast = lazy.Pattern(`(^|[\s.!?…。！？])[\pP\pS]*` + sentinel + wrapping + `$`)

	// unfinished matches the end of a text that may become the sentinel: behind white space, or directly behind a sentence or a colon.
	unfinished = lazy.Pattern("(?:(?:^|\\s)(?:`{3,}\\w*\\n)?(?:[\\pP\\pS\\p{Cf}]|</?\\w+>)*(?:" + beginning + ")?|[.!?…。！？:：](" + beginning + "))" + wrapping + "(?:</?\\w*)?$")

	// emptyFence matches a block of code without content.
	emptyFence = lazy.Pattern("(?m)^[ \\t]*(`{3,}|~{3,})\\w*[ \\t]*\\n(?:[ \\t]*\\n)*[ \\t]*(?:`{3,}|~{3,})[ \\t]*$")
)

// maxUnfinished limits the end of a text that waits, in bytes: the sentinel and its wrapping.
const maxUnfinished = 64

// WithoutNoReply removes the sentinel from a text, and white space around the text. A sentence that mentions the sentinel
// stays. writing: the model is still writing, and what may become the sentinel at the end is removed, too.
func WithoutNoReply(text string, writing bool) string {
	if writing {
		from := max(0, len(text)-maxUnfinished)
		if at := unfinished().FindStringSubmatchIndex(text[from:]); at != nil && (at[0] > 0 || from == 0) {
			text = text[:from+max(at[0], at[2])]
		}
	}
	text = strings.TrimSpace(text)
	if !hasSentinel().MatchString(text) {
		if misspelt().MatchString(text) {
			return ""
		}
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !sentinelLine().MatchString(line) && !sentinelFirst().MatchString(line) {
			kept = append(kept, line)
		}
	}
	without := strings.TrimSpace(strings.Join(kept, "\n"))
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

// lastSentence returns where the sentinel begins that is a sentence of its own at the end of a text; -1 if there is none.
func lastSentence(text string) int {
	at := sentinelLast().FindStringSubmatchIndex(text)
	if at == nil {
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
