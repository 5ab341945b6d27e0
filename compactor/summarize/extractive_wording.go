// How the extractive summarizer words a sentence: in the words of its message. A memory gets the dates that "yesterday" and
// the like were when it was written. A long sentence ends after a clause, and one that begins with "it" is not alone.

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
	"cairn/internal/tokens"
	"cairn/internal/words"
)

// firstClauses returns a sentence, or of one that is longer than maxSentence as many of its first clauses as fit, or of its words
// if these say less than half.
func firstClauses(text string) string {
	head := tokens.Beginning(text, maxSentence)
	if len(head) == len(text) {
		return text
	}
	ends := clauseEnd().FindAllStringIndex(head, -1)
	if len(ends) == 0 || ends[len(ends)-1][0] < len(head)/2 {
		ends = blank().FindAllStringIndex(head, -1)
	}
	if len(ends) > 0 {
		head = head[:ends[len(ends)-1][0]]
	}
	return strings.TrimSpace(head) + "…"
}

var (
	clauseEnd = lazy.Pattern(`[,;:—–]\s|\s[—–-]\s|[，；：、]`)
	blank     = lazy.Pattern(`\s`)
)

// dangles reports whether a sentence begins with a word that means something in the one before.
func dangles(text string) bool {
	first, rest, _ := strings.Cut(strings.ReplaceAll(text, "’", "'"), " ")
	next, _, _ := strings.Cut(rest, " ")
	word, _, _ := strings.Cut(words.Bare(first), "'")
	return dangling[word] && !timeWords[words.Bare(next)]
}

var dangling = words.Set(`it its this that these those they them their he him his she her`)

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
// (7 May 2023)". It adds only what is certain.
func withDates(text string, written time.Time) string {
	if written.IsZero() {
		return text
	}
	var b strings.Builder
	done := 0
	for _, at := range relative().FindAllStringIndex(text, -1) {
		date := resolve(strings.ToLower(text[at[0]:at[1]]), written)
		added := " (" + date + ")" // perhaps already, in a summary
		if date != "" && !strings.HasPrefix(text[at[1]:], added) && !likened().MatchString(text[:at[0]]) {
			b.WriteString(text[done:at[1]] + added)
			done = at[1]
		}
	}
	return b.String() + text[done:]
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
