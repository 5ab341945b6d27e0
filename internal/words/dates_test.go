package words

import (
	_ "embed"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
)

// datePhrases are phrases in ten languages, with the times they mean; see docs/decisions.md.
//
//go:embed testdata/dates.txt
var datePhrases string

func TestDatePhrases(t *testing.T) {
	now := time.Date(2026, 3, 18, 15, 4, 0, 0, time.UTC)
	phrases := 0
	for line := range strings.Lines(datePhrases) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		phrases++
		fields := strings.Split(line, "|")
		check.Require(t, len(fields) == 3, "a line is %q", line)
		text := strings.TrimSpace(fields[1])
		got := datesIn(text, now)
		check.Equal(t, fields[0]+text, got, strings.TrimSpace(fields[2]))
	}
	check.That(t, phrases > 200, "got %d phrases", phrases)
}

// datesIn returns the times in a text as days.
func datesIn(text string, now time.Time) string {
	var got []string
	for _, s := range Dates(text, now) {
		got = append(got, s.From.Format(time.DateOnly)+" "+s.To.Format(time.DateOnly))
	}
	return strings.Join(got, ", ")
}

func BenchmarkDates(b *testing.B) {
	now := time.Date(2026, 3, 18, 15, 4, 0, 0, time.UTC)
	for b.Loop() {
		for line := range strings.Lines(datePhrases) {
			Dates(line, now)
		}
	}
}
