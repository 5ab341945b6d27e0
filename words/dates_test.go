package words

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
)

func TestDates(t *testing.T) {
	now := time.Date(2026, 3, 18, 15, 4, 0, 0, time.UTC) // a Wednesday
	for _, c := range []struct{ text, want string }{
		{"on 7 May 2023", "2023-05-07 2023-05-08"},
		{"May 7th, 2023, at noon", "2023-05-07 2023-05-08"},
		{"the 7th of May", "2025-05-07 2025-05-08"},
		{"on December 1,2023", "2023-12-01 2023-12-02"},
		{"in June 2023", "2023-06-01 2023-07-01"},
		{"in May", "2025-05-01 2025-06-01"},
		{"this March", "2026-03-01 2026-04-01"},
		{"since 2022", "2022-01-01 2023-01-01"},
		{"2023-05-07 and 2023-06", "2023-05-07 2023-05-08, 2023-06-01 2023-07-01"},
		{"am 7.5.2023", "2023-05-07 2023-05-08"},
		{"am 7. Mai 2023", "2023-05-07 2023-05-08"},
		{"im März", "2026-03-01 2026-04-01"},
		{"2023年5月7日", "2023-05-07 2023-05-08"},
		{"2023年5月", "2023-05-01 2023-06-01"},
		{"5月7日", "2025-05-07 2025-05-08"},
		{"yesterday or today", "2026-03-17 2026-03-18, 2026-03-18 2026-03-19"},
		{"last week", "2026-03-09 2026-03-16"},
		{"letzte Woche", "2026-03-09 2026-03-16"},
		{"last weekend", "2026-03-14 2026-03-16"},
		{"last month", "2026-02-01 2026-03-01"},
		{"last year", "2025-01-01 2026-01-01"},
		{"last Friday", "2026-03-13 2026-03-14"},
		{"last Wednesday", "2026-03-11 2026-03-12"},
		{"two days ago", "2026-03-16 2026-03-17"},
		{"3 weeks ago", "2026-02-22 2026-03-01"},
		{"vor zwei Tagen", "2026-03-16 2026-03-17"},
		{"may I march on?", ""},
		{"I have 7 dogs, 1234567 stamps and 3.5 cats", ""},
		{"the last one, ago", ""},
		{"", ""},
	} {
		var got []string
		for _, s := range Dates(c.text, now) {
			got = append(got, s.From.Format(time.DateOnly)+" "+s.To.Format(time.DateOnly))
		}
		check.Equal(t, c.text, strings.Join(got, ", "), c.want)
	}
}

func FuzzDates(f *testing.F) {
	addSeeds(f, "on the 31st of Feb 2023, 2023-02-31, 99.99.2023, in 1000 years ago, 2023年13月40日, last last week 7th")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Dates(text, time.Date(2026, 3, 18, 0, 0, 0, 0, time.UTC)) {
			check.Require(t, s.From.Before(s.To), "%q: from %v to %v", text, s.From, s.To)
		}
	})
}
