// Package search finds and ranks texts that answer a question: by its words, including misspelt and inflected ones, by whom it
// is about, and by time. It is pure: the index is behind an interface. It imports words, and nothing else of Cairn.
package search

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/words"
)

// Index is an index of documents, limited to those a question may reach. If reading it fails, the methods return nothing.
type Index interface {
	Size() int                                 // documents
	Frequencies(terms []string) map[string]int // in how many documents each term occurs; terms that occur in none are missing
	Pairs(character string) []string           // terms of two characters, one of which it is
	Languages() []string                       // of the stems that occur, see words.Stems
	Members(terms []string) map[string]string  // the names of members that contain the terms
	// Postings returns at most limit postings of each term, the most wanted first: the newest, or, for a question for the oldest, these.
	Postings(terms []string, limit int) map[string][]words.Posting
}

// Transcript is the index of a conversation. Its documents are messages; neighbours have
// consecutive numbers.
type Transcript interface {
	Index
	Around(terms []string, seqs []int64) map[string][]words.Posting // those at most Reach away from one of the messages, the newest first
	Messages(seqs []int64) []Message                                // those of them that may be found
	// Said returns messages of a time by an author, "" is anyone, at most limit.
	Said(in words.Span, author string, limit int) []int64
}

// Message is a message that may answer a question.
type Message struct {
	Seq       int64
	Author    string
	Text      string
	Captions  string // and names of what came with it
	Assistant bool   // the bot is its author
	Answers   bool   // the message before it is a question by someone else
	Time      time.Time
	Length    int // about how many terms it has
}

// Hit is a message found by a question.
type Hit struct {
	Message
	Score
}

// Score is how well something answers a question, the higher the better, within one answer.
type Score struct {
	Total float64
	Parts []Part // Total is their sum
}

// Part is what one factor adds to a score, or subtracts from it: words, neighbours, speaker, date, …
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Add adds a part to the score, unless it is 0.
func (s *Score) Add(name string, value float64) {
	if value != 0 {
		s.Total += value
		s.Parts = append(s.Parts, Part{name, value})
	}
}

// times multiplies the score.
func (s *Score) times(name string, factor float64) { s.Add(name, s.Total*(factor-1)) }

// Messages returns the messages between from and to that answer the question, at most limit, in its order. It finds a message by its own words and by those of its neighbours, at a bounded cost.
func (q *Query) Messages(in Transcript, from, to int64, limit int) (hits []Hit) {
	traces := q.traces(in)
	var seqs []int64
	for _, p := range q.candidates(scores(traces, from, to), limit) {
		seqs = append(seqs, p.document)
	}
	seqs = q.addSaid(seqs, in)
	seqs = q.withNearest(seqs, from, to)
	readAround(traces, in, seqs)
	for _, m := range in.Messages(seqs) {
		h := Hit{Message: m}
		// A one-word query is not a question: only messages with the word itself match.
		if h.weigh(q, traces, to) || !q.single {
			hits = append(hits, h)
		}
	}
	addStretches(hits)
	q.fuse(hits)
	hits = q.sort(hits)
	return hits[:min(limit, len(hits))]
}

// Scores returns the worth of the question's words in each document that has any.
func (q *Query) Scores(in Index) map[int64]float64 {
	q.lookUp(in)
	scores := make(map[int64]float64)
	postings := in.Postings(textsOf(q.terms), math.MaxInt64)
	for _, t := range q.terms { // sorted: scores add up in one order
		for _, p := range t.of(postings, math.MaxInt64) {
			scores[p.Document] += t.gain(float64(p.Count), p.Length)
		}
	}
	return scores
}

// The factors of a score, see also the weights in rank.go.
const (
	BySpeaker = 1.8  // by the person the question is about
	thatAsks  = 0.8  // a question itself
	naming    = 1.2  // it names something: a title, a place, a person
	halved    = 0.5  // by the bot: its answers repeat people, and questions ask for people's words
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

// weigh sets the message's score; last is the newest message. matched: the message itself has a word of the question, or is of a
// time that the question names.
func (h *Hit) weigh(q *Query, traces []trace, last int64) (matched bool) {
	length := 0
	for _, t := range traces {
		length = max(length, t.at(h.Seq).length)
	}
	matched = length > 0
	if !matched {
		length = h.Length
	}
	gain := 0.0
	all := 0.0
	has := 0.0
	requested := 0.0 // the worth of the terms in the message, and of all terms
	for _, t := range traces {
		at := t.at(h.Seq)
		requested += t.worth
		if at.count > 0 {
			has += t.worth
		}
		if h.Answers {
			at.near += (answering - afterwards) * t.at(h.Seq-1).count
		}
		gain += t.gain(at.count, length)
		all += t.gain(at.near, length)
	}
	h.Add("words", gain)
	h.Add("neighbours", all-gain)
	if requested > 0 {
		h.times("own", 1+itself*has/requested)
	}
	h.Add("time", q.unsaid(h.Time))
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
	if q.newest {
		h.times("newer", 1+float64(h.Seq)/float64(last))
	}
	return matched || q.asksFor(h.Time)
}

// Passage returns the stretch of a text, of at most limit characters, in which the question's terms are worth most, each counted
// once, and that worth. "…" marks what is left out.
func (q *Query) Passage(text string, limit int) (part string, worth float64) {
	const pieces = 4 // make up a passage, which determines the precision of its start
	all := []string{text}
	if utf8.RuneCountInString(text) > limit {
		all = split(text, max(limit/pieces, 1))
	}
	has := make([]map[string]bool, len(all)) // the terms of each
	for i, piece := range all {
		has[i] = make(map[string]bool)
		for _, term := range append(words.Content(piece), words.Stems(piece)...) {
			has[i][term] = true
		}
	}
	first := 0
	upto := 0 // the best stretches begin with these pieces: the middle one shows the context
	for i := range max(len(all)-pieces+1, 1) {
		sum := 0.0
		for _, t := range q.terms {
			if slices.ContainsFunc(has[i:min(i+pieces, len(all))], t.in) {
				sum += t.worth
			}
		}
		if sum > worth {
			first = i
			upto = i
			worth = sum
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

// split cuts a text into pieces of at most limit characters, after a space where a piece has one.
func split(text string, limit int) (all []string) {
	for text != "" {
		end := len(text)
		blank := 0
		n := 0
		for i, r := range text {
			if n == limit {
				end = i
				if blank > 0 {
					end = blank
				}
				break
			}
			n++
			if unicode.IsSpace(r) {
				blank = i + utf8.RuneLen(r)
			}
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	return all
}
