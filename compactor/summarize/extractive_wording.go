// How the extractive summarizer words a sentence: shorter, so that more of them fit, and with the dates that
// "yesterday" and the like were when it was written. Only English is shortened. Negations, numbers, names,
// quotations, and how certain the speaker is, stay.

package summarize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/internal/words"
)

// tighten removes from a sentence its link to the one before, words of mere emphasis, and articles,
// as in a headline.
func tighten(text string) string {
	if !isEnglish(text) || strings.ContainsAny(text, "`{}<>[]=\\|") {
		return text
	}
	fields := strings.Fields(starter().ReplaceAllString(text, ""))
	kept := make([]string, 0, len(fields))
	quoted := false
	for i, word := range fields {
		last := ""
		next := ""
		if len(kept) > 0 {
			last = words.Bare(kept[len(kept)-1])
		}
		if i+1 < len(fields) {
			next = fields[i+1]
		}
		if quoted || !spare(word, last, next) {
			kept = append(kept, word)
		}
		if strings.Count(word, `"`)%2 == 1 {
			quoted = !quoted
		}
		quoted = (quoted || strings.Contains(word, "“")) && !strings.Contains(word, "”")
	}
	short := strings.Join(kept, " ")
	r, n := utf8.DecodeRuneInString(short)
	if startsSmall(short) && !startsSmall(text) {
		short = string(unicode.ToUpper(r)) + short[n:]
	}
	return short
}

// starter matches words that link a sentence to the one before.
var starter = lazy.Pattern(`(?i)^(?:(?:by the way|btw|anyway|actually|honestly|to be honest|basically|i mean|you know|guess what|so|well), +|(?:and|but|also|plus),? +)+`)

// spare reports whether a word between last, which was kept, and next may be dropped.
func spare(word, last, next string) bool {
	follows := words.Bare(next)
	if !startsSmall(next) || words.Denies(last) {
		return false
	}
	switch strings.ToLower(word) {
	case "the":
		return !holds[follows] && last != "all"
	case "a", "an":
		return !holds[follows] && !holdsArticle[last]
	case "so":
		return beings[last] && !holds[follows]
	case "just":
		return !beings[last] && !holds[follows] && follows != "in" && follows != "a" && follows != "the"
	case "really", "actually", "basically", "literally", "honestly", "totally", "truly", "very":
		return true
	}
	return false
}

var (
	// holds are words whose meaning depends on the small word before them: "a few", "the more", "just
	// one", "so far".
	holds = words.Set(`few little lot lots bit while couple day week month year hour minute night time past piece
single half third quarter dozen hundred thousand million one two three four five six seven eight nine ten more less
most least as like other others only first last next same best worst per better sooner way end rest whole point sort
kind blast fan part break look try far much many that about under over`)
	holdsArticle = words.Set(`as once twice times such half many what how too`)
	beings       = words.Set(`is was are were be been am i'm it's that's he's she's we're they're you're feel felt feels look looks looked`)
)

func startsSmall(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLower(r)
}

// isEnglish reports whether a sentence has at least two common English words and no letters outside
// ASCII.
func isEnglish(text string) bool {
	n := 0
	for word := range strings.FieldsSeq(text) {
		if englishWords[words.Bare(word)] {
			n++
		}
	}
	return n >= 2 && !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) })
}

var englishWords = words.Set(`the and of with i'm i've it's that this these those have had my your his her their our i
you we they she were been to for from about which who when there would could should i'll i'd we're they're don't
didn't can't just really`)

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

// withDates adds to a text, written at a time, what its relative times mean: "We met yesterday
// (7 May 2023)". It adds only what is certain. In a text under the heading of its day it omits what
// the heading says: "yesterday (7 May)", and nothing for "last week".
func withDates(text string, written time.Time, underDay bool) string {
	if written.IsZero() {
		return text
	}
	var b strings.Builder
	done := 0
	for _, at := range relative().FindAllStringIndex(text, -1) {
		date := resolve(strings.ToLower(text[at[0]:at[1]]), written)
		if underDay {
			date = besideDay(date, written)
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
func besideDay(date string, written time.Time) string {
	if strings.HasPrefix(date, "the ") || date == written.Format(chat.DateFormat) {
		return ""
	}
	return strings.TrimSuffix(date, written.Format(" 2006"))
}

// resolve returns the date that a phrase means, "" if it is ambiguous.
func resolve(phrase string, written time.Time) string {
	day := func(n int) string { return written.AddDate(0, 0, n).Format(chat.DateFormat) }
	if n, known := daysFrom[phrase]; known {
		return day(n)
	}
	phrase, ago := strings.CutSuffix(phrase, " ago")
	which, unit, _ := strings.Cut(phrase, " ")
	n := map[string]int{"last": -1, "next": 1}[which]
	about := ""
	if ago {
		n = -number(which)
		about = "about "
	}
	switch unit = strings.TrimSuffix(unit, "s"); {
	case unit == "year":
		return about + strconv.Itoa(written.Year()+n)
	case unit == "month": // from the first of the month, because a month after the 31st could skip a month
		return about + time.Date(written.Year(), written.Month()+time.Month(n), 1, 0, 0, 0, 0, written.Location()).Format("January 2006")
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
