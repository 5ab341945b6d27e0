// Relative times are resolved: which date "yesterday" was when it was said.

package summarize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/lazy"
)

// relative finds times that are meaningful only on the day they are mentioned.
var relative = lazy.Pattern(`(?i)\b(?:day before yesterday|day after tomorrow|yesterday|tomorrow|tonight|today|last night|` +
	`(?:last|next|this) (?:week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|` +
	`(?:\d{1,3}|an?|` + strings.Join(numbers[1:], "|") + `) (?:day|week|month|year)s? ago)\b`)

var (
	daysFrom = map[string]int{
		"day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2,
	}
	numbers = strings.Fields("a one two three four five six seven eight nine ten")
)

// likened matches comparisons that only look like a time: "it feels like just yesterday".
var likened = lazy.Pattern(`(?i)\blike (?:just |only |it was )*$`)

// withDates adds to a text, written at time said, what its relative times mean: "We met yesterday
// (7 May 2023)". It adds only what is certain. In a text under the heading of its day it omits what
// the heading says: "yesterday (7 May)", and nothing for "last week".
func withDates(text string, said time.Time, underDay bool) string {
	if said.IsZero() {
		return text
	}
	var b strings.Builder
	done := 0
	for _, at := range relative().FindAllStringIndex(text, -1) {
		date := resolve(strings.ToLower(text[at[0]:at[1]]), said)
		if underDay {
			date = besideDay(date, said)
		}
		added := " (" + date + ")" // perhaps already, in a summary
		if date != "" && !strings.HasPrefix(text[at[1]:], added) && !likened().MatchString(text[:at[0]]) {
			b.WriteString(text[done:at[1]] + added)
			done = at[1]
		}
	}
	return b.String() + text[done:]
}

// besideDay returns the part of a date that the heading of the message's day does not say.
func besideDay(date string, said time.Time) string {
	if strings.HasPrefix(date, "the ") || date == said.Format(chat.DateFormat) {
		return ""
	}
	return strings.TrimSuffix(date, said.Format(" 2006"))
}

// resolve returns the date that a phrase means, "" if it is ambiguous.
func resolve(phrase string, said time.Time) string {
	day := func(n int) string { return said.AddDate(0, 0, n).Format(chat.DateFormat) }
	if n, known := daysFrom[phrase]; known {
		return day(n)
	}
	phrase, ago := strings.CutSuffix(phrase, " ago")
	which, unit, _ := strings.Cut(phrase, " ")
	n, about := map[string]int{"last": -1, "next": 1}[which], ""
	if ago {
		n, about = -number(which), "about "
	}
	switch unit = strings.TrimSuffix(unit, "s"); {
	case unit == "year":
		return about + strconv.Itoa(said.Year()+n)
	case unit == "month": // from the first of the month, because a month after the 31st could skip a month
		return about + time.Date(said.Year(), said.Month()+time.Month(n), 1, 0, 0, 0, 0, said.Location()).Format("January 2006")
	case unit == "day":
		return day(n)
	case ago:
		return about + day(7*n)
	case n == 0:
		return ""
	}
	// "Last Friday" may mean this week or the one before, and weeks start on different days, so it
	// is left as it is.
	if !strings.HasPrefix(unit, "week") {
		unit = strings.ToUpper(unit[:1]) + unit[1:]
	}
	return fmt.Sprintf("the %s %s %s", unit, map[int]string{-1: "before", 1: "after"}[n], day(0))
}

// number parses a number that relative matches.
func number(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	return max(slices.Index(numbers, word), 1) // 1: a, an
}
