// Times: which messages the time that a question names leads to, and how well a message's time fits the question.

package search

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/internal/words"
)

// The weights of times, see also those in rank.go and search.go.
const (
	unspoken = 2.5 // for a message of the time that the question names, whatever its words
	fading   = 2.0 // days: for messages before and after that time, it decays
	onDate   = 2.0 // written in the time that the question names, or within a week after it: people report later what they did
	withTime = 2.0 // the question asks when, and the message says a time

	lightly = 0.25 // for words if the question is about nothing but a time: others used the same words at any time

	datesTried = 4   // of a question, whose messages are looked up
	saidThen   = 100 // at most that many messages of them
)

// timeWords say when something was, besides dates.
var timeWords = words.Set(`ago before day days last later month months morning next night recently since soon spring
summer tomorrow tonight week weeks weekend winter year years monday tuesday wednesday thursday friday saturday
sunday just`)

var (
	whenWords = words.Set("when wann いつ quand cuando quando когда متى")
	// nowWords ask for the newest of several answers.
	nowWords = words.Set(`now still latest lately currently since jetzt noch inzwischen derzeit aktuell zuletzt neueste neuesten seit
maintenant encore actuellement dernierement depuis ahora todavia aun actualmente ultimamente desde agora ainda atualmente
сейчас теперь еще 今も まだ 最近 現在 现在 还在 目前 الان`)
)

// dateTerms are terms of words with which a question names a time.
var dateTerms = words.Set(strings.Join(words.Terms(`ago day last month night today week weekend year yesterday monday tuesday wednesday
thursday friday saturday sunday january february march april may june july august september october november december
gestern heute tag nacht woche wochenende monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar
märz mai juni juli oktober dezember`), " "))

// isOnlyTime reports whether the question names a time, and beside it nothing to look for.
func (q *Query) isOnlyTime() bool {
	return len(q.dates) > 0 && !slices.ContainsFunc(q.words, func(w words.Word) bool {
		isNumber := !q.single && strings.Trim(w.Term, "0123456789") == ""
		return !weak[w.Term] && !dateTerms[w.Term] && !isNumber
	})
}

// tellsTime reports whether a word of text says a time.
func tellsTime(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) <= len("wednesday") && timeWords[strings.ToLower(word)] {
			return true
		}
	}
	return false
}

// addSaid adds messages of the times that the question names, by the person whom it names: they may answer it
// without a word in common.
func (q *Query) addSaid(seqs []int64, in Transcript) []int64 {
	dates := q.dates[:min(len(q.dates), datesTried)]
	for _, date := range dates {
		seqs = append(seqs, in.Said(date, q.named, saidThen/len(dates))...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// asksFor reports whether the question names a time.
func (q *Query) asksFor(at time.Time) bool {
	return slices.ContainsFunc(q.dates, func(date words.Span) bool { return !at.Before(date.From) && at.Before(date.To) })
}

// unsaid returns what a message of a time is worth, whatever its words.
func (q *Query) unsaid(at time.Time) (worth float64) {
	for _, date := range q.dates {
		away := max(date.From.Sub(at), at.Sub(date.To), 0)
		worth = max(worth, unspoken*math.Exp(-away.Hours()/24/fading))
	}
	return worth
}

// fit returns how well the time of a message, or the time it mentions, fits the question.
func (q *Query) fit(m Message) float64 {
	fit := 1.0
	for _, date := range q.dates {
		if !m.Time.Before(date.From.AddDate(0, 0, -1)) && m.Time.Before(date.To.AddDate(0, 0, 7)) {
			fit = onDate
		}
	}
	if q.when && (tellsTime(m.Text) || len(words.Dates(m.Text+m.Captions, m.Time)) > 0) {
		fit *= withTime
	}
	return fit
}
