// Expiry: when a memory ends.

package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// endOf parses the end of something said at a time: a time; a day, at the end of which it ends; or
// a duration from said. Without a zone it is local. It returns milliseconds, 0 for an empty text.
// An end in the past is an error.
func endOf(text string, said, now time.Time) (int64, error) {
	text = strings.TrimSpace(text)
	if endless(text) {
		return 0, nil
	}
	_, end, isTime := timeOf(text)
	if !isTime {
		length, isLength := lengthOf(text)
		if !isLength {
			return 0, fmt.Errorf(`expires is %q: write a day, "2026-05-08", a time, "2026-05-08T15:00Z", or how long it holds from when it was said, "36h", "3d" or "2w"`, text)
		}
		end = said.Add(length)
	}
	if year := end.UTC().Year(); year > 9999 {
		return 0, fmt.Errorf("expires is %q, which is too far away: leave it out", text)
	}
	if !end.After(now) {
		return 0, fmt.Errorf("expires is %q, which has passed: leave it out if it still matters, else save nothing", text)
	}
	return end.UnixMilli(), nil
}

// endless reports whether a model's text for an end means "never".
func endless(text string) bool {
	return slices.Contains([]string{"", "never", "none", "null", "no", "n/a", "-", "forever", "permanent", "no expiration"},
		strings.ToLower(strings.TrimRight(text, ".")))
}

// timeForms are the formats of times that people and models use, by the duration of the times.
var timeForms = []struct {
	months, days int
	forms        []string
}{
	{0, 0, []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04Z07:00",
		time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.ANSIC, time.UnixDate,
	}},
	{0, 1, []string{time.DateOnly, "2006/01/02", "2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", "January 2 2006", "Mon, 2 Jan 2006"}},
	{1, 0, []string{"2006-01", "January 2006", "Jan 2006"}},
}

// timeOf parses a time, a day or a month, and returns its start and end. Without a zone it is
// local.
func timeOf(text string) (start, end time.Time, ok bool) {
	for _, f := range timeForms {
		for _, form := range f.forms {
			if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
				return t, t.AddDate(0, f.months, f.days), true
			}
		}
	}
	return start, end, false
}

// lengthPattern matches durations such as "3d", "in 2 weeks" and "a month".
var lengthPattern = regexp.MustCompile(`(?i)^(?:(?:in|after|for)\s+)?(\d+|an?|one)\s*(h|d|w|hour|day|week|month|year)s?$`)

// lengthOf parses a duration of at most 100 years. A month has 30 days.
func lengthOf(text string) (time.Duration, bool) {
	m := lengthPattern.FindStringSubmatch(text)
	if m == nil {
		length, err := time.ParseDuration(strings.TrimPrefix(strings.ToLower(text), "in "))
		return length, err == nil && length > 0
	}
	hours := map[byte]int{'h': 1, 'd': 24, 'w': 7 * 24, 'm': 30 * 24, 'y': 365 * 24}[strings.ToLower(m[2])[0]]
	n, err := strconv.Atoi(m[1])
	if m[1][0] > '9' { // a, an, one
		n, err = 1, nil
	}
	return time.Duration(n*hours) * time.Hour, err == nil && n > 0 && n <= 100*365*24/hours
}

// Ago parses a time in the past: a time; a day, at its start; or a duration before now, such as
// "36h", "7d" or "2w". Without a zone it is local.
func Ago(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if start, _, ok := timeOf(text); ok {
		return start, nil
	}
	if length, ok := lengthOf(text); ok {
		return now.Add(-length), nil
	}
	return time.Time{}, fmt.Errorf(`invalid time %q: use a day ("2026-05-08"), a time ("2026-05-08T15:00Z"), or how long ago ("36h", "7d", "2w")`, text)
}

// Until parses the end of a period, as Ago parses its start: a day or a month is included as a
// whole.
func Until(text string, now time.Time) (time.Time, error) {
	if _, end, ok := timeOf(strings.TrimSpace(text)); ok {
		return end, nil
	}
	return Ago(text, now)
}
