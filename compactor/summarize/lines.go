package summarize

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/transcript"
)

// Lines returns the lines of a summary that claim something, with the messages of the span that each
// of them cites; nil if none cites any.
func (j *Judge) Lines(text string) (lines []transcript.Line) {
	for at, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" || heading().MatchString(line) {
			continue
		}
		lines = append(lines, transcript.Line{At: at, Seqs: cited(line)})
	}
	if !slices.ContainsFunc(lines, transcript.Line.HasEvidence) {
		return nil
	}
	return lines
}

var seqIn = regexp.MustCompile(`#([0-9]+)`)

// cited returns the numbers of the messages that a line cites, in order.
func cited(line string) (seqs []int64) {
	for _, citation := range transcript.Citations.FindAllString(line, -1) {
		for _, found := range seqIn.FindAllStringSubmatch(citation, -1) {
			if seq, err := strconv.ParseInt(found[1], 10, 64); err == nil {
				seqs = append(seqs, seq)
			}
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
