package summarize

import (
	"slices"
	"strings"

	"cairn/transcript"
)

// WithFolded returns the lines of a fold, of which those without evidence get the messages that the same lines of its rows rest on:
// the text of a row that a model wrote may cite none.
func WithFolded(text string, lines []transcript.Line, rows []transcript.Summary) []transcript.Line {
	rests := map[string][]int64{}
	for _, row := range rows {
		at := strings.Split(row.Text, "\n")
		for _, l := range row.Lines {
			if l.At < len(at) {
				text := Statement(at[l.At])
				rests[text] = append(rests[text], l.Seqs...)
			}
		}
	}
	at := strings.Split(text, "\n")
	for i, l := range lines {
		if l.HasEvidence() || l.At >= len(at) {
			continue
		}
		seqs := slices.Sorted(slices.Values(rests[Statement(at[l.At])]))
		lines[i].Seqs = slices.Compact(seqs)
	}
	return lines
}
