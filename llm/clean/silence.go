// The sentinel with which a model says that it has nothing to add. People never see it, however it is wrapped.

package clean

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NoReply is what the system prompt asks for from a model that has nothing to add.
const NoReply = "NO_REPLY"

const (
	sentinel = `(?i:NO\\?_REPLY)`

	// wrapping is what models put around a word: punctuation, Markdown, tags.
	wrapping = "(?:[\\s\\pP\\pS]|</?\\w+>)*"

	// beginning is a part of the sentinel.
	beginning = `(?:NO?|(?i:NO\\?_?(?:_(?:R(?:E(?:P(?:LY?)?)?)?)?)?))`
)

var (
	hasSentinel = regexp.MustCompile(sentinel)

	// sentinelLine matches a line that is only the sentinel, with a name before it at most: "Answer: **NO_REPLY**".
	sentinelLine = regexp.MustCompile(`^` + wrapping + `(?:[\pL_]{1,20}` + wrapping + `:` + wrapping + `)?` + sentinel + wrapping + `$`)

	// sentinelFirst matches a line that begins with the sentinel and gives reasons: "NO_REPLY: nobody asked".
	sentinelFirst = regexp.MustCompile(`^` + wrapping + sentinel + "[`*_\"')\\]]*" + `(?:[.:,;!(]|\s+[-–—(])`)

	// sentinelLast matches the sentinel behind the last sentence of a text.
	sentinelLast = regexp.MustCompile(`(^|[\s.!?…。！？])[\pP\pS]*` + sentinel + wrapping + `$`)

	// unfinished matches the end of a text that may become the sentinel: behind white space, or directly behind a sentence.
	unfinished = regexp.MustCompile("(?:(?:^|\\s)(?:`{3,}\\w*\\n)?(?:[\\pP\\pS]|</?\\w+>)*(?:" + beginning + ")?|[.!?…。！？](" + beginning + "))" + wrapping + "(?:</?\\w*)?$")

	// emptyFence matches a block of code without content.
	emptyFence = regexp.MustCompile("(?m)^[ \\t]*(`{3,}|~{3,})\\w*[ \\t]*\\n(?:[ \\t]*\\n)*[ \\t]*(?:`{3,}|~{3,})[ \\t]*$")
)

// maxUnfinished limits the end of a text that waits, in bytes: the sentinel and its wrapping.
const maxUnfinished = 64

// WithoutNoReply removes the sentinel from a text, and white space around the text. A sentence that mentions the sentinel
// stays. writing: the model is still writing, and what may become the sentinel at the end is removed, too.
func WithoutNoReply(text string, writing bool) string {
	if writing {
		from := max(0, len(text)-maxUnfinished)
		if at := unfinished.FindStringSubmatchIndex(text[from:]); at != nil && (at[0] > 0 || from == 0) {
			text = text[:from+max(at[0], at[2])]
		}
	}
	text = strings.TrimSpace(text)
	if !hasSentinel.MatchString(text) {
		if text == "NO REPLY" {
			return ""
		}
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !sentinelLine.MatchString(line) && !sentinelFirst.MatchString(line) {
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
	if without != text {
		without = strings.TrimSpace(emptyFence.ReplaceAllString(without, ""))
	}
	return without
}

// lastSentence returns where the sentinel begins that is a sentence of its own at the end of a text; -1 if there is none.
func lastSentence(text string) int {
	at := sentinelLast.FindStringSubmatchIndex(text)
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
		case anyTag.MatchString(text):
			text = text[len(anyTag.FindString(text)):]
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
var anyTag = regexp.MustCompile(`^</?[A-Za-z][^<>\n]{0,80}>`)
