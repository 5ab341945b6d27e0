// The lines that people wrote in summaries stay, whatever takes a summary's place.

package transcript

import (
	"cmp"
	"slices"
	"strings"
)

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
				sum = sum.keep(lines, l)
				kept = true
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
		old := sum.Lines[i]
		kept.Seqs = old.Seqs
		kept.Beside = old.Beside
		kept.Earlier = old.Earlier
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
