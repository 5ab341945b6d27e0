// Ranking by words: BM25 that also counts neighbours.

package search

import (
	"cmp"
	"math"
	"slices"
)

// The weights were measured on long conversations with questions, see bench recall: each is a round
// number near a broad optimum.
const (
	// k1 and b are BM25's: in short texts, a word repeated means little more than a word used
	// once, and length means little.
	k1 = 0.6
	b  = 0.4

	// ordinary is the number of terms of a text of ordinary length.
	ordinary = 12

	weakWord = 0.6 // a word that only phrases a question
)

// nearby is what a word counts for the messages around the one it occurs in, later ones with a
// positive offset: people rarely repeat what was just said.
var nearby = [...]struct {
	offset int64
	weight float64
}{{-3, 0.1}, {-2, 0.2}, {-1, 0.2}, {0, 1}, {1, afterwards}, {2, 0.3}, {3, 0.2}}

const (
	afterwards = 0.4
	answering  = 1 // instead, where the word is in a question and the next message is by someone else
)

// Reach is how far a word counts, in messages.
const Reach = 3

// term is a word of a question that occurs in the index.
type term struct {
	text      string
	stems     []string // of its word, by the rules of the languages spoken in the conversation
	frequency int      // in how many documents it occurs
	worth     float64  // its idf, and what kind of word it is
}

// read reads the postings of the term and of its stems, by document. If several of them find a
// word, it counts as often as for the one that finds it most.
func (t term) read(postings func(term string) []Posting) (all []Posting) {
	for _, text := range append([]string{t.text}, t.stems...) {
		all = append(all, postings(text)...)
	}
	slices.SortFunc(all, func(x, y Posting) int {
		return cmp.Or(cmp.Compare(x.Document, y.Document), cmp.Compare(y.Count, x.Count))
	})
	return slices.CompactFunc(all, func(x, y Posting) bool { return x.Document == y.Document })
}

// idf returns the worth of a term that occurs in frequency of all documents.
func idf(frequency, all int) float64 {
	f, n := float64(frequency), float64(max(all, frequency))
	return math.Log(1 + (n-f+0.5)/(f+0.5))
}

// gain returns what the term adds to the score of a document in which it occurs count times.
func (t term) gain(count float64, length int) float64 {
	return t.worth * count * (k1 + 1) / (count + k1*(1-b+b*float64(length)/ordinary))
}

// scored is a document with its score.
type scored struct {
	document int64
	score    float64
}

// best returns the limit best of all, best first; of equal ones the newer first.
func best(all []scored, limit int) []scored {
	kept := make([]scored, 0, min(4*limit, len(all)))
	cut := func() {
		slices.SortFunc(kept, func(x, y scored) int {
			return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.document, x.document))
		})
		kept = kept[:min(limit, len(kept))]
	}
	least := math.Inf(-1)
	for _, s := range all {
		if s.score < least {
			continue
		}
		if kept = append(kept, s); len(kept) >= 4*limit {
			cut()
			least = kept[len(kept)-1].score
		}
	}
	cut()
	return kept
}
