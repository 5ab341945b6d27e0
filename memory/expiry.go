// Expiry: when a memory ends.

package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// endOf parses the end of something said at a time: a time; a day, at the end of which it ends; or
// a duration from said. Without a zone it is local. An empty text has no end; one in the past is an
// error.
func endOf(text string, said, now time.Time) (end time.Time, err error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.EqualFold(text, "never") || strings.EqualFold(text, "none") {
		return end, nil
	}
	_, end, isTime := timeOf(text)
	if !isTime {
		length, isLength := lengthOf(text)
		if !isLength {
			return end, fmt.Errorf(`expires is %q: write a day, "2026-05-08", a time, "2026-05-08T15:00Z", or how long it holds from when it was said, "36h", "3d" or "2w"`, text)
		}
		end = said.Add(length)
	}
	if year := end.UTC().Year(); year > 9999 {
		return end, fmt.Errorf("expires is %q, which is too far away: leave it out", text)
	}
	if !end.After(now) {
		return end, fmt.Errorf("expires is %q, which has passed: leave it out if it still matters, else save nothing", text)
	}
	return end, nil
}

// timeForms are the formats of times, by how long the times last.
var timeForms = []struct {
	months, days int
	forms        []string
}{
	{0, 0, []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04"}},
	{0, 1, []string{time.DateOnly}},
	{1, 0, []string{"2006-01"}},
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

// lengthOf parses a duration of at most 100 years: "36h", "3d", "2w".
func lengthOf(text string) (time.Duration, bool) {
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) {
			return time.Duration(n*hours) * time.Hour, n > 0 && n <= 100*365*24/hours
		}
	}
	length, err := time.ParseDuration(text)
	return length, err == nil && length > 0
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
