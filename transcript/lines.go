// What each line of a summary rests on.

package transcript

import (
	"slices"
	"strings"
	"unicode"
)

// Line is a line of a summary that claims something, and what it rests on. Headings, blank lines and what Cairn adds
// claim nothing.
type Line struct {
	At      int     `json:"at"`                // its index among the lines of Text
	Seqs    []int64 `json:"seqs,omitempty"`    // the messages that say it, in order: of the span, or outside of it if Beside
	Beside  bool    `json:"beside,omitempty"`  // only what its writer was shown beside the span says it: a summary, other messages, the agent's prompt
	Earlier int64   `json:"earlier,omitempty"` // the id of the summary that says it, if Beside; 0: it is no summary, or not known
	By      string  `json:"by,omitempty"`      // the name of the person who wrote it; "": the summary's maker
	ByID    string  `json:"by_id,omitempty"`   // the id of that person, on the platform or in the dashboard
}

// HasEvidence reports whether the line rests on a message, on what was shown beside the span, or on the word of the person who
// wrote it.
func (l Line) HasEvidence() bool { return len(l.Seqs) > 0 || l.Beside || l.By != "" }

// NoEvidence ends a line without evidence where a summary is shown. Text does not contain it.
const NoEvidence = "[no evidence]"

// Marked returns the text with NoEvidence behind each line that has none.
func (sum Summary) Marked() string {
	if !slices.ContainsFunc(sum.Lines, func(l Line) bool { return !l.HasEvidence() }) {
		return sum.Text
	}
	lines := strings.Split(sum.Text, "\n")
	for _, l := range sum.Lines {
		if l.At < len(lines) && !l.HasEvidence() {
			lines[l.At] = strings.TrimRight(lines[l.At], " \t\r") + " " + NoEvidence
		}
	}
	return strings.Join(lines, "\n")
}

// LinesIn returns those of lines that the text has, without messages outside the span where the span should say them. What was
// beside the span of a part is in that of the total.
func (sum Summary) LinesIn(lines []Line) (kept []Line) {
	text := strings.Split(sum.Text, "\n")
	for _, l := range lines {
		if l.At < 0 || l.At >= len(text) || strings.TrimSpace(text[l.At]) == "" {
			continue
		}
		covered := slices.DeleteFunc(slices.Clone(l.Seqs), func(seq int64) bool { return !sum.Covers(seq) })
		if len(covered) > 0 && len(covered) == len(l.Seqs) {
			l.Beside = false
			l.Earlier = 0
		}
		if !l.Beside {
			l.Seqs = covered
		}
		kept = withLine(kept, l)
	}
	return kept
}

// WithoutMarks returns a text as it is stored: a model that read marked lines may have copied the marks.
func WithoutMarks(text string) string {
	if !strings.Contains(text, NoEvidence) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = withoutMark(line)
	}
	return strings.Join(lines, "\n")
}

func withoutMark(line string) string {
	for {
		rest, found := strings.CutSuffix(strings.TrimRight(line, " \t\r"), NoEvidence)
		if !found {
			return line
		}
		line = strings.TrimRight(rest, " \t\r")
	}
}

// Claim is a line as people see it: its text without the list marker, and what it rests on.
type Claim struct {
	Line
	Text  string
	Known bool // it is known what it rests on
}

// Claims returns the lines that may claim something, in order; people count them from 1. Which lines these are depends on the text alone,
// apart from judged lines that look like none: so rewriting one changes no other number.
func (sum Summary) Claims() (claims []Claim) {
	if sum.Text == "" {
		return nil
	}
	at := make(map[int]Line)
	for _, l := range sum.Lines {
		at[l.At] = l
	}
	for i, text := range strings.Split(sum.Text, "\n") {
		l, known := at[i]
		l.At = i
		_, content := cutMarker(text)
		if known || isContent(text) {
			claims = append(claims, Claim{l, content, known})
		}
	}
	return claims
}

// Shortened is the last line of a summary that something was left out of.
const Shortened = "[shortened]"

// isContent reports whether a line is more than a heading, the day above its messages, or the mark of a shortened text.
func isContent(line string) bool {
	marker, content := cutMarker(line)
	if content == "" || content == Shortened || isHeading(line) {
		return false
	}
	above := strings.HasSuffix(content, ":") || strings.HasSuffix(content, "：")
	return !above || strings.TrimSpace(marker) != ""
}

// Unsupported returns how many lines have no evidence.
func (sum Summary) Unsupported() (n int) {
	for _, l := range sum.Lines {
		if !l.HasEvidence() {
			n++
		}
	}
	return n
}

// isHeading reports whether a line is a Markdown heading.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return len(rest) < len(line) && strings.HasPrefix(rest, " ")
}

// cutMarker splits a line into the marker of a list item, with the spaces around it, and the rest.
func cutMarker(line string) (marker, content string) {
	content = strings.TrimLeftFunc(line, unicode.IsSpace)
	for _, bullet := range []string{"- ", "* ", "• "} {
		if rest, ok := strings.CutPrefix(content, bullet); ok {
			content = strings.TrimLeftFunc(rest, unicode.IsSpace)
			break
		}
	}
	return line[:len(line)-len(content)], strings.TrimSpace(content)
}
