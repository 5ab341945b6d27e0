// Package search finds and ranks texts that answer a question: by its words, including misspelt and inflected ones, by whom it
// is about, and by time. It is pure: the index is behind an interface. It imports words, and nothing else of Cairn.
package search

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Posting is a document in which a term occurs.
type Posting struct {
	Document int64
	Count    int // of the term
	Length   int // of the document, in terms
}

// Index is an index of documents, limited to those a question may reach. If reading it fails, the methods return nothing.
type Index interface {
	Size() int                                 // documents
	Frequencies(terms []string) map[string]int // in how many documents each term occurs; terms that occur in none are missing
	Pairs(character string) []string           // terms of two characters, one of which it is
	Languages() []string                       // of the stems that occur, see words.Stems
	Members(terms []string) map[string]string  // the names of members that contain the terms
	Postings(term string, limit int) []Posting // the newest, by document
}

// Transcript is the index of a conversation. Its documents are messages; neighbours have
// consecutive numbers.
type Transcript interface {
	Index
	Around(term string, seqs []int64) []Posting // those at most Reach away from one of the messages
	Messages(seqs []int64) []Message            // those of them that may be found
}

// Message is a message that may answer a question.
type Message struct {
	Seq       int64
	Author    string
	Text      string
	Captions  string // and names of what came with it
	Assistant bool   // the bot said it
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

// Messages returns the messages between from and to that answer the question, at most limit, the best first; of equally good
// ones the newer first. It finds a message by its own words and by those of its neighbours, at a bounded cost.
func (q *Query) Messages(in Transcript, from, to int64, limit int) (hits []Hit) {
	const examined = 100 // at least that many messages are scored by more than their words
	traces := q.traces(in)
	var seqs []int64
	for _, p := range best(scores(traces, from, to), max(examined, 4*limit)) {
		seqs = append(seqs, p.document)
	}
	for i := range traces { // read what was left out, around the messages that matter
		if t := &traces[i]; t.common {
			t.places = spread(t.read(func(term string) []Posting { return in.Around(term, seqs) }))
		}
	}
	for _, m := range in.Messages(seqs) {
		h := Hit{Message: m}
		// A one-word query is not a question: only messages with the word itself match.
		if h.weigh(q, traces) || !q.single {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(y.Seq, x.Seq))
	})
	return hits[:min(limit, len(hits))]
}

// Scores returns the worth of the question's words in each document that has any.
func (q *Query) Scores(in Index) map[int64]float64 {
	q.lookUp(in)
	scores := make(map[int64]float64)
	for _, t := range q.terms { // sorted: scores add up in one order
		for _, p := range t.read(func(term string) []Posting { return in.Postings(term, math.MaxInt64) }) {
			scores[p.Document] += t.gain(float64(p.Count), p.Length)
		}
	}
	return scores
}
