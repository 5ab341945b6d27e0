// Relative times are resolved: which date "yesterday" was when it was said.

package summarize

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/lazy"
)

// relative finds times that are meaningful only on the day they are mentioned.
var relative = lazy.Pattern(`(?i)\b(?:day before yesterday|day after tomorrow|yesterday|tomorrow|tonight|today|last night|` +
	`(?:last|next|this) (?:week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|` +
	`(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (day|week|month|year)s? ago)\b`)

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
	for _, m := range relative().FindAllStringSubmatchIndex(text, -1) {
		count, unit := "", ""
		if m[2] >= 0 {
			count, unit = strings.ToLower(text[m[2]:m[3]]), strings.ToLower(text[m[4]:m[5]])
		}
		date := resolve(strings.ToLower(text[m[0]:m[1]]), count, unit, said)
		if underDay {
			date = besideDay(date, said)
		}
		added := " (" + date + ")" // perhaps already, in a summary
		if date != "" && !strings.HasPrefix(text[m[1]:], added) && !likened().MatchString(text[:m[0]]) {
			b.WriteString(text[done:m[1]] + added)
			done = m[1]
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

// resolve returns the date that a phrase means, "" if it is ambiguous. count and unit belong to
// phrases like "3 weeks ago".
func resolve(phrase, count, unit string, said time.Time) string {
	day := func(n int) string { return said.AddDate(0, 0, n).Format(chat.DateFormat) }
	if unit != "" {
		return ago(number(count), unit, said)
	}
	switch phrase {
	case "day before yesterday":
		return day(-2)
	case "yesterday", "last night":
		return day(-1)
	case "today", "tonight":
		return day(0)
	case "tomorrow":
		return day(1)
	case "day after tomorrow":
		return day(2)
	}
	which, span, _ := strings.Cut(phrase, " ")
	step := map[string]int{"last": -1, "this": 0, "next": 1}[which]
	// The first of the month, because a month after the 31st could skip a month.
	first := time.Date(said.Year(), said.Month(), 1, 0, 0, 0, 0, said.Location())
	switch {
	case span == "year":
		return strconv.Itoa(said.Year() + step)
	case span == "month":
		return first.AddDate(0, step, 0).Format("January 2006")
	case step == 0:
		return ""
	}
	// "Last Friday" may mean this week or the one before, and weeks start on different days, so it
	// is left as it is.
	if span != "week" && span != "weekend" {
		span = strings.ToUpper(span[:1]) + span[1:]
	}
	side := "before"
	if step > 0 {
		side = "after"
	}
	return fmt.Sprintf("the %s %s %s", span, side, day(0))
}

func ago(n int, unit string, said time.Time) string {
	switch unit {
	case "day":
		return said.AddDate(0, 0, -n).Format(chat.DateFormat)
	case "week":
		return "about " + said.AddDate(0, 0, -7*n).Format(chat.DateFormat)
	case "month":
		first := time.Date(said.Year(), said.Month(), 1, 0, 0, 0, 0, said.Location())
		return "about " + first.AddDate(0, -n, 0).Format("January 2006")
	}
	return "about " + strconv.Itoa(said.Year()-n)
}

// number parses a number that relative matches.
func number(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	for i, name := range []string{"a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"} {
		if strings.EqualFold(word, name) {
			return i + 1
		}
	}
	return 1 // an, one
}
