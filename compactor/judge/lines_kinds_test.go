package judge

import (
	"embed"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/testkit/check"
)

// Files for each of 12 languages: the messages of a span, then lines about it that begin with + if they are true, with - if a cited
// message says something else.
//
//go:embed testdata/lines
var kindsOfLines embed.FS

// Whatever the language: counts and what they count, days without their month, times in words, sums, corrections, rounded numbers.
func TestLinesOfEachKind(t *testing.T) {
	files := check.Must(kindsOfLines.ReadDir("testdata/lines"))(t)
	check.Len(t, "files", files, 52)
	for _, file := range files {
		t.Run(strings.TrimSuffix(file.Name(), ".txt"), func(t *testing.T) {
			text := string(check.Must(kindsOfLines.ReadFile("testdata/lines/" + file.Name()))(t))
			var messages, lines []string
			for line := range strings.Lines(text) {
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- ") {
					lines = append(lines, line)
				} else {
					messages = append(messages, line)
				}
			}
			span := said(messages...)
			for i := range span {
				span[i].Time = span[i].Time.AddDate(2, 0, -2) // Monday, 2 March 2026
			}
			judge := Of(summarize.ItemsOf(span, summarize.MaxMessage))
			for _, line := range lines {
				statement, isTrue := strings.CutPrefix(line, "+ ")
				c := judge.Check("- " + strings.TrimPrefix(statement, "- "))
				check.That(t, !isTrue || len(c.Wrong) == 0, "a true line is dropped: %s: %v", line, c.Wrong)
				check.That(t, !isTrue || len(c.Unknown) == 0, "a true line is marked: %s", line)
				check.That(t, isTrue || len(c.Wrong)+len(c.Unknown) > 0, "a false line is kept: %s", line)
			}
		})
	}
}
