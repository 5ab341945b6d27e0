// Weighing: how well a message answers a question, beyond its words; and the part of it that the question is about.

package search

import (
	"math"
	"slices"
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

// Passage returns the stretch of a text, of at most most characters, in which the question's terms are worth most, each counted
// once, and that worth. "…" marks what is left out.
func (q *Query) Passage(text string, most int) (part string, worth float64) {
	const pieces = 4 // make up a passage, which determines the precision of its start
	all := []string{text}
	if utf8.RuneCountInString(text) > most {
		all = split(text, max(most/pieces, 1))
	}
	has := make([]map[string]bool, len(all)) // the terms of each
	for i, piece := range all {
		has[i] = make(map[string]bool)
		for _, term := range append(words.Content(piece), words.Stems(piece)...) {
			has[i][term] = true
		}
	}
	first, upto := 0, 0 // the best stretches begin with these pieces: the middle one shows the context
	for i := range max(len(all)-pieces+1, 1) {
		sum := 0.0
		for _, t := range q.terms {
			if slices.ContainsFunc(has[i:min(i+pieces, len(all))], t.in) {
				sum += t.worth
			}
		}
		if sum > worth {
			first, upto, worth = i, i, sum
		} else if sum == worth && upto == i-1 {
			upto = i
		}
	}
	if worth > 0 {
		first = (first + upto + 1) / 2
	}
	last := min(first+pieces, len(all))
	part = strings.TrimSpace(strings.Join(all[first:last], ""))
	if first > 0 {
		part = "… " + part
	}
	if last < len(all) {
		part += " …"
	}
	return part, worth
}

// in reports whether the term, or a stem of its word, is among those of a text.
func (t term) in(terms map[string]bool) bool {
	return terms[t.text] || slices.ContainsFunc(t.stems, func(stem string) bool { return terms[stem] })
}

// split cuts a text into pieces of at most most characters, after a space where a piece has one.
func split(text string, most int) (all []string) {
	for text != "" {
		end, blank, n := len(text), 0, 0
		for i, r := range text {
			if n == most {
				end = i
				if blank > 0 {
					end = blank
				}
				break
			}
			if n++; unicode.IsSpace(r) {
				blank = i + utf8.RuneLen(r)
			}
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	return all
}
