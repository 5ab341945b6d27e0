// What each line of a summary rests on, and the lines that people wrote.

package transcript

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Line is a line of a summary that claims something, and what it rests on. Headings, blank lines and what Cairn adds
// claim nothing.
type Line struct {
	At   int     `json:"at"`              // its index among the lines of Text
	Seqs []int64 `json:"seqs,omitempty"`  // the messages that say it, in order; empty: none was found, unless a person wrote it
	By   string  `json:"by,omitempty"`    // the name of the person who wrote it; "": the summary's maker
	ByID string  `json:"by_id,omitempty"` // the id of that person, on the platform or in the dashboard
}

// HasEvidence reports whether the line rests on a message, or on the word of the person who wrote it.
func (l Line) HasEvidence() bool { return len(l.Seqs) > 0 || l.By != "" }

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

// LinesIn returns those of lines that the text has, without messages outside the span.
func (sum Summary) LinesIn(lines []Line) (own []Line) {
	text := strings.Split(sum.Text, "\n")
	for _, l := range lines {
		if l.At >= 0 && l.At < len(text) && strings.TrimSpace(text[l.At]) != "" {
			l.Seqs = slices.DeleteFunc(slices.Clone(l.Seqs), func(seq int64) bool { return !sum.Covers(seq) })
			own = withLine(own, l)
		}
	}
	return own
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
	Text string
}

// Claims returns the lines that claim something, in order; people count them from 1. known is false if it
// is not known what they rest on; then they are all lines but blank ones and headings.
func (sum Summary) Claims() (claims []Claim, known bool) {
	at := make(map[int]Line)
	for _, l := range sum.Lines {
		at[l.At] = l
		known = known || l.By == ""
	}
	if sum.Text == "" {
		return nil, true
	}
	for i, text := range strings.Split(sum.Text, "\n") {
		l, listed := at[i]
		l.At = i
		if _, content := cutMarker(text); listed || !known && content != "" && !isHeading(text) {
			claims = append(claims, Claim{l, content})
		}
	}
	return claims, known || len(claims) == len(sum.Lines)
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

// isPersons reports whether a person wrote the line.
func (l Line) isPersons() bool { return l.By != "" }

// Keeping returns a summary that takes the place of other ones with the lines in them that people wrote,
// word for word: a line that its text has too is marked as theirs, others go to the end of the part with the
// same heading, or of the text.
func (sum Summary) Keeping(below ...Summary) Summary {
	kept := false
	for _, row := range below {
		lines := strings.Split(row.Text, "\n")
		for _, l := range row.Lines {
			if l.isPersons() && l.At < len(lines) {
				sum, kept = sum.keep(lines, l), true
			}
		}
	}
	if kept {
		sum.Tokens = sum.Cost()
	}
	return sum
}

// keep adds line l of other lines to the summary.
func (sum Summary) keep(from []string, l Line) Summary {
	_, content := cutMarker(from[l.At])
	lines := strings.Split(sum.Text, "\n")
	if sum.Text == "" {
		lines = nil
	}
	kept := Line{By: l.By, ByID: l.ByID}
	kept.At = slices.IndexFunc(lines, func(line string) bool {
		_, other := cutMarker(line)
		return !isHeading(line) && withoutCitations(other) == withoutCitations(content)
	})
	if kept.At < 0 {
		kept.At = endOfPart(lines, headingOf(from, l.At))
		lines = slices.Insert(lines, kept.At, from[l.At])
		sum.Lines = moved(sum.Lines, kept.At, 1)
	} else {
		marker, _ := cutMarker(lines[kept.At])
		lines[kept.At] = marker + content
	}
	if i := slices.IndexFunc(sum.Lines, func(old Line) bool { return old.At == kept.At }); i >= 0 {
		kept.Seqs = sum.Lines[i].Seqs
	}
	sum.Text = strings.Join(lines, "\n")
	sum.Lines = withLine(sum.Lines, kept)
	return sum
}

// withoutCitations returns a line as a model that repeats it may have written it without its citations, or with others.
func withoutCitations(line string) string {
	return cmp.Or(strings.TrimSpace(Citations.ReplaceAllString(line, "")), line)
}

// headingOf returns the heading above a line; "" if there is none.
func headingOf(lines []string, at int) string {
	for ; at >= 0; at-- {
		if isHeading(lines[at]) {
			return strings.TrimSpace(lines[at])
		}
	}
	return ""
}

// endOfPart returns the index behind the last line under a heading; without such a heading that of the text's end.
func endOfPart(lines []string, heading string) int {
	at := slices.IndexFunc(lines, func(line string) bool { return heading != "" && strings.TrimSpace(line) == heading })
	if at < 0 {
		return len(lines)
	}
	end := at + 1
	for i := end; i < len(lines) && !isHeading(lines[i]); i++ {
		if strings.TrimSpace(lines[i]) != "" {
			end = i + 1
		}
	}
	return end
}

// moved returns lines with those from an index on moved by some lines.
func moved(lines []Line, from, by int) []Line {
	lines = slices.Clone(lines)
	for i := range lines {
		if lines[i].At >= from {
			lines[i].At += by
		}
	}
	return lines
}

// withLine returns lines, ordered by At, with l in place of the one at its index.
func withLine(lines []Line, l Line) []Line {
	lines = slices.DeleteFunc(slices.Clone(lines), func(old Line) bool { return old.At == l.At })
	at := slices.IndexFunc(lines, func(old Line) bool { return old.At > l.At })
	if at < 0 {
		at = len(lines)
	}
	return slices.Insert(lines, at, l)
}
