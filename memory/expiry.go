// Expiry: when a memory comes to its end.

package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// endForms are the forms of a moment, the finest first.
var endForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}

// endOf reads when something ends that was said at a time: a moment, a day, at the end of which
// it does, or how long it holds from then on. Without a zone it is the local one. It returns
// milliseconds, 0 for an empty text. What has ended already is an error.
func endOf(text string, said, now time.Time) (int64, error) {
	text = strings.TrimSpace(text)
	if endless(text) {
		return 0, nil
	}
	end, err := moment(text)
	if err != nil {
		end, err = dateInWords(text)
	}
	if err != nil {
		length, isLength := lengthInWords(text)
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

// endless tells whether a model's words for an end say that there is none.
func endless(text string) bool {
	return slices.Contains([]string{"", "never", "none", "null", "no", "n/a", "-", "forever", "permanent", "no expiration"},
		strings.ToLower(strings.TrimRight(text, ".")))
}

// dateInWords reads the dates that models write beside those they are asked for. A day or
// a month holds until its end.
func dateInWords(text string) (time.Time, error) {
	for _, form := range []string{time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.ANSIC, time.UnixDate} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	for _, form := range []string{"2006/01/02", "2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", "January 2 2006", "Mon, 2 Jan 2006"} {
		if day, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return day.AddDate(0, 0, 1), nil
		}
	}
	for _, form := range []string{"2006-01", "January 2006", "Jan 2006"} {
		if month, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return month.AddDate(0, 1, 0), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date", text)
}

// lengthPattern finds lengths as "in 2 weeks", "3 days" and "a month".
var lengthPattern = regexp.MustCompile(`(?i)^(?:in|after|for)?\s*(\d+|an?|one)\s+(hour|day|week|month|year)s?$`)

// lengthInWords reads what lengthOf does, and lengths in words. A month has 30 days.
func lengthInWords(text string) (time.Duration, bool) {
	m := lengthPattern.FindStringSubmatch(text)
	if m == nil {
		return lengthOf(strings.TrimPrefix(strings.ToLower(text), "in "))
	}
	n, days := m[1], map[string]int{"day": 1, "week": 7, "month": 30, "year": 365}[strings.ToLower(m[2])]
	if _, err := strconv.Atoi(n); err != nil { // a, an, one
		n = "1"
	}
	if days == 0 {
		return lengthOf(n + "h")
	}
	length, ok := lengthOf(n + "d")
	return time.Duration(days) * length, ok && length <= 100*365*24*time.Hour/time.Duration(days)
}

func moment(text string) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	for _, form := range append(endForms, "2006-01-02T15:04Z07:00") {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", text)
}

// lengthOf reads "36h", "90m", "3d" or "2w".
func lengthOf(text string) (time.Duration, bool) {
	const most = 100 * 365 // days
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) {
			return time.Duration(n*days) * 24 * time.Hour, n > 0 && n <= most/days
		}
	}
	length, err := time.ParseDuration(text)
	return length, err == nil && length > 0
}

// Ago reads a moment in the past: a time, a day, at the beginning of which it is, or how
// long it is before now, as "36h", "7d" or "2w". Without a zone it is the local one.
func Ago(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	if t, err := moment(text); err == nil {
		return t, nil
	}
	if length, ok := lengthOf(text); ok {
		return now.Add(-length), nil
	}
	return time.Time{}, fmt.Errorf(`%q is no time: write a day, "2026-05-08", a time, "2026-05-08T15:00Z", or how long ago, "36h", "7d" or "2w"`, text)
}
