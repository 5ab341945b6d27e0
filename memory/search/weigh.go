// Weighing: how well a message answers a question, beyond its words.

package search

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/words"
)

// The factors of a score, see also the weights in rank.go.
const (
	BySpeaker = 1.8  // said by the person the question is about
	thatAsks  = 0.8  // a question itself
	naming    = 1.2  // it names something: a title, a place, a person
	halved    = 0.5  // said by the bot: its answers repeat what people said, and questions ask for people's words
	onDate    = 3.0  // said in the time that the question names, or within a week after it: people report later what they did
	withTime  = 2.0  // the question asks when, and the message says a time
	itself    = 0.25 // added to a message that has all the terms itself, not through its neighbours
	longer    = 0.2  // added for more words, by their logarithm
)

// namesSomething reports whether text has a capitalized word that does not begin a sentence.
func namesSomething(text string) bool {
	begins := true // the next word begins a sentence, or addresses someone
	for word := range strings.FieldsSeq(text) {
		first, size := utf8.DecodeRuneInString(word)
		if !begins && unicode.IsUpper(first) && len(word) > size+1 && word[size] != '\'' && !strings.HasPrefix(word[size:], "’") {
			return true
		}
		begins = strings.ContainsRune(".!?,…:", rune(word[len(word)-1]))
	}
	return false
}

// weigh sets the message's score. own: the message itself has a word of the question.
func (h *Hit) weigh(q *Query, traces []trace) (own bool) {
	length := 0
	for _, t := range traces {
		length = max(length, t.at(h.Seq).length)
	}
	if own = length > 0; !own {
		length = h.Length
	}
	itsOwn, all := 0.0, 0.0
	has, asked := 0.0, 0.0 // the worth of the terms in the message, and of all terms
	for _, t := range traces {
		at := t.at(h.Seq)
		asked += t.worth
		if at.count > 0 {
			has += t.worth
		}
		if h.Answers {
			at.near += (answering - afterwards) * t.at(h.Seq-1).count
		}
		itsOwn += t.gain(at.count, length)
		all += t.gain(at.near, length)
	}
	h.Add("words", itsOwn)
	h.Add("neighbours", all-itsOwn)
	if asked > 0 {
		h.times("own", 1+itself*has/asked)
	}
	h.times("length", 1+longer*math.Log(1+float64(length)/ordinary))
	if q.IsAbout(h.Author) {
		h.times("speaker", BySpeaker)
	}
	if words.EndsInQuestion(h.Text) {
		h.times("question", thatAsks)
	}
	if namesSomething(h.Text) {
		h.times("names", naming)
	}
	if h.Assistant {
		h.times("assistant", halved)
	}
	h.times("date", q.fit(h.Message))
	return own
}

// fit returns how well the time of a message, or the time it mentions, fits the question.
func (q *Query) fit(m Message) float64 {
	fit := 1.0
	for _, asked := range q.dates {
		if !m.Time.Before(asked.From.AddDate(0, 0, -1)) && m.Time.Before(asked.To.AddDate(0, 0, 7)) {
			fit = onDate
		}
	}
	if q.when && (tellsTime(m.Text) || len(words.Dates(m.Text+m.Captions, m.Time)) > 0) {
		fit *= withTime
	}
	return fit
}
