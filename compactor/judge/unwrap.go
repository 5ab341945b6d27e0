// Models wrap their summaries: in code fences, tags, JSON, announcements and offers. This file takes
// the text out; edges.go cuts what is left before and after it.

package judge

import (
	"regexp"
	"strings"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/llm/clean"
)

// maxWrappers is how many wrappers are taken off a summary, one inside the other.
const maxWrappers = 10

// TextOf returns a summary as a model wrote it, without reasoning, wrappers, announcements, offers
// and instructions to its reader. What a message of the span says, and code or JSON within a
// summary, stays. It returns "" for JSON without a text.
func (j *Judge) TextOf(written string) string {
	text := trim(written)
	for range maxWrappers {
		inner := trim(j.unwrap(text))
		if inner == text {
			break
		}
		text = inner
	}
	if text == "" || toolSyntax().MatchString(text) || label().MatchString(text) {
		return text
	}
	if !j.span.says(clean.NoReply) {
		text = clean.WithoutNoReply(text, false)
	}
	return j.withoutInstructions(withoutRepeats(j.withoutFrame(text)))
}

// trim removes white space and invisible characters at the edges of a text.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

// unwrap returns a text without its outermost wrapper; the text itself if it has none. Reasoning may
// are before the wrapper or within it.
func (j *Judge) unwrap(text string) string {
	if inner, found := j.outOfJSON(text); found {
		return inner
	}
	text = cleaned(text)
	if toolSyntax().MatchString(text) || label().MatchString(text) {
		return text // neither is a summary, and the judge says which it is
	}
	for _, take := range []func(string) (string, bool){j.outOfFence, withHeadings, outOfElement, j.outOfFinal, outOfQuote, withLines} {
		if inner, found := take(text); found {
			return inner
		}
	}
	return text
}

// outOfFence takes a summary out of the code fence around it. The fence may lack its end. A fence
// beside text that says something about the span is part of the summary.
func (j *Judge) outOfFence(text string) (string, bool) {
	lines := strings.Split(text, "\n")
	open := -1
	for i, line := range lines {
		if summarize.Fence().MatchString(line) {
			open = i
			break
		}
	}
	if open < 0 {
		return "", false
	}
	end, closed := summarize.EndOfFence(lines, open)
	inner := strings.Join(lines[open+1:end], "\n")
	after := ""
	if closed {
		after = strings.Join(lines[end+1:], "\n")
	}
	headed := summarize.HasHeadings(inner)
	if !closed && !headed && open > 0 || !j.span.frames(strings.Join(lines[:open], "\n"), headed) || !j.span.frames(after, headed) {
		return "", false
	}
	return inner, true
}

var (
	// opening tags of an element around or before a summary: <analysis>, [SUMMARY]
	firstTag = lazy.Pattern(`^(?:<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>|\[([A-Za-z][\w.:-]*)\])`)

	// finalTag matches the opening tag of an element that has the result, at the beginning of a line or
	// behind another element.
	finalTag = lazy.Pattern(`(?im)(?:^|>)[ \t]*<((?:final[_-]?)?(?:summary|answer|result|output|response|recap)|final)(?:\s[^<>]*)?>`)

	// lastTag matches a closing tag at the end of a text.
	lastTag = lazy.Pattern(`\s*(?:</([A-Za-z][\w.:-]*)>|\[/([A-Za-z][\w.:-]*)\])\s*$`)
)

// outOfElement takes a summary out of the element around it, or from behind the element before it. A
// closing tag alone, at the end, goes.
func outOfElement(text string) (string, bool) {
	if m := lastTag().FindStringSubmatchIndex(text); m != nil {
		name := strings.ToLower(submatch(text, m, 1) + submatch(text, m, 2))
		if lower := strings.ToLower(text[:m[0]]); !strings.Contains(lower, "<"+name) && !strings.Contains(lower, "["+name) {
			return text[:m[0]], true
		}
	}
	m := firstTag().FindStringSubmatchIndex(text)
	if m == nil {
		return "", false
	}
	closing := "</" + submatch(text, m, 1) + ">"
	if m[2] < 0 {
		closing = "[/" + submatch(text, m, 2) + "]"
	}
	inner, rest, closed := cutFold(text[m[1]:], closing)
	switch {
	case !closed || strings.TrimSpace(inner) == "":
		return "", false
	case strings.TrimSpace(rest) == "":
		return inner, true
	case finalTag().MatchString(text[:m[1]]): // outOfFinal sees what follows it
		return "", false
	}
	inline := !strings.Contains(inner, "\n") && !strings.HasPrefix(rest, "\n") && !strings.HasPrefix(rest, "<")
	return rest, !inline && !summarize.HasHeadings(inner)
}

// outOfFinal takes a summary out of the element that has the result, which may lack its end. What
// the people themselves wrote in such an element stays.
func (j *Judge) outOfFinal(text string) (string, bool) {
	m := finalTag().FindStringSubmatchIndex(text)
	if m == nil {
		return "", false
	}
	inner, rest, closed := cutFold(text[m[1]:], "</"+text[m[2]:m[3]]+">")
	if strings.TrimSpace(inner) == "" || j.span.quotes(inner) || closed && !j.span.frames(rest, summarize.HasHeadings(inner)) {
		return "", false
	}
	return inner, true
}

// submatch returns the n-th submatch of a match; "" if it has none.
func submatch(text string, match []int, n int) string {
	if match[2*n] < 0 {
		return ""
	}
	return text[match[2*n]:match[2*n+1]]
}

// cutFold cuts text at the first separator in ASCII, ignoring case.
func cutFold(text, separator string) (before, after string, found bool) {
	at := regexp.MustCompile(`(?i)` + regexp.QuoteMeta(separator)).FindStringIndex(text)
	if at == nil {
		return text, "", false
	}
	return text[:at[0]], text[at[1]:], true
}

// headingTag matches a tag that may be a heading: <decisions>, </open_questions>
var headingTag = lazy.Pattern(`<(/?)([A-Za-z][A-Za-z_-]*)>`)

// withHeadings converts the elements of a text that begins with one into headings, where they have
// their names.
func withHeadings(text string) (string, bool) {
	m := headingTag().FindStringSubmatchIndex(text)
	if m == nil || m[0] > 0 {
		return "", false
	}
	if _, known := summarize.HeadingNamed(submatch(text, m, 2)); !known {
		return "", false
	}
	text = headingTag().ReplaceAllStringFunc(text, func(tag string) string {
		name := strings.Trim(tag, "</>")
		at, known := summarize.HeadingNamed(name)
		switch {
		case !known:
			return tag
		case strings.HasPrefix(tag, "</"):
			return "\n"
		}
		return "\n## " + summarize.Headings[at] + "\n"
	})
	return summarize.JoinParts([]string{text}), true // without the empty ones
}

// quotationMarks are what models put around a full summary.
var quotationMarks = [][2]string{{`"""`, `"""`}, {"'''", "'''"}, {"“", "”"}, {"«", "»"}, {"「", "」"}, {"<<<", ">>>"}, {"<![CDATA[", "]]>"}}

// boxed matches a text in the box in which models that are trained on mathematics put their answer.
var boxed = lazy.Pattern(`(?s)\A\$*\s*\\boxed\{(.*)\}\s*\$*\z`)

// outOfQuote takes a summary out of a quotation: marks are around it, or all of its lines begin
// with ">".
func outOfQuote(text string) (string, bool) {
	for _, marks := range quotationMarks {
		inner, found := strings.CutPrefix(text, marks[0])
		inner, ends := strings.CutSuffix(inner, marks[1])
		if found && ends && !strings.Contains(inner, marks[1]) {
			return inner, true
		}
	}
	if m := boxed().FindStringSubmatch(text); m != nil {
		return m[1], true
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		inner, found := strings.CutPrefix(strings.TrimSpace(line), ">")
		if !found && strings.TrimSpace(line) != "" {
			return "", false
		}
		lines[i] = strings.TrimPrefix(inner, " ")
	}
	return strings.Join(lines, "\n"), true
}

// escapedLine matches a line end written as a backslash and an n: after a sentence, or before a list
// item, a heading or another line end. A path such as C:\new has none.
var escapedLine = lazy.Pattern(`[.!?。！？)\]】）]\\n|\\n(?:\\n|[-*#•] ?|#{1,6} )`)

// withLines converts the escaped line ends of a text without real ones.
func withLines(text string) (string, bool) {
	if strings.Contains(text, "\n") || !escapedLine().MatchString(text) {
		return "", false
	}
	return strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`).Replace(text), true
}

var toolSyntax = lazy.Pattern(`(?i)<tool_call|<function[=_]|<\|tool|"name"\s*:\s*"(?:summarize|memory_save)"|^\s*(?:summarize|memory_save)\s*\(|✿FUNCTION✿:\s*(?:summarize|memory_save)|^\s*(?:\*\*)?Action(?: \d+)?:(?:\*\*)?\s*(?:summarize|memory_save)\b`)

// cleaned returns what a model wrote without its reasoning and the marks of its template.
func cleaned(text string) string { return strings.TrimSpace(clean.Summary(text)) }
