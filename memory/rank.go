// Ranking: how well documents speak of what a question asks, by BM25.

package memory

import (
	"cmp"
	"math"
	"slices"
)

// The weights were measured on long conversations with questions, see bench recall:
// each is a round number near the best, on a broad hill.
const (
	// k1 and b are BM25's: in short texts a word said twice tells little more than
	// one said once, and length tells little about worth.
	k1 = 0.6
	b  = 0.4

	// ordinary is the number of terms of a text of ordinary length.
	ordinary = 12

	rareness = 1.2 // the power of idf
	weakWord = 0.6 // a word with which people put questions
	respelt  = 0.8 // a word that was not asked for as it is written
)

// nearby is what a word counts in the messages around the one it stands in, those
// behind it with a positive offset: people repeat little of what was just said.
var nearby = [...]struct {
	offset int64
	weight float64
}{{-3, 0.05}, {-2, 0.1}, {-1, 0.2}, {0, 1}, {1, 0.4}, {2, 0.3}, {3, 0.1}}

// reach is how far a word counts, in messages.
const reach = 3

// answering is what it counts in the message after it where it stands in a question.
const answering = 1

// posting is a document in which a term stands.
type posting struct {
	document   int64
	tf, length int
}

// lookup is a term of a question that stands somewhere.
type lookup struct {
	term  string
	stems []string // of its word, by the rules of the languages that are spoken here
	df    int      // in how many documents it stands
	tell  float64  // what it tells: its idf, and what kind of word it is
}

// read reads the postings of the term and of its stems, by document. A word that is
// found by several of them stands there as often as by the one that finds it most.
func (l lookup) read(postings func(term string) ([]posting, error)) ([]posting, error) {
	all, err := postings(l.term)
	for _, stem := range l.stems {
		if err != nil {
			return nil, err
		}
		var more []posting
		more, err = postings(stem)
		all = append(all, more...)
	}
	slices.SortFunc(all, func(x, y posting) int {
		return cmp.Or(cmp.Compare(x.document, y.document), cmp.Compare(y.tf, x.tf))
	})
	return slices.CompactFunc(all, func(x, y posting) bool { return x.document == y.document }), err
}

// tells is what a term tells that stands in df of n documents.
func tells(df, n int, weight float64) float64 {
	d, all := float64(df), float64(max(n, df))
	return weight * math.Pow(math.Log(1+(all-d+0.5)/(d+0.5)), rareness)
}

// gain is what a term adds to the score of a document in which it stands so often.
func (l lookup) gain(tf float64, length int) float64 {
	return l.tell * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(length)/ordinary))
}

// count counts the terms of a document, and the stems of the same words beside them.
func count(terms []string, stems ...string) (counts map[string]int, length int) {
	counts = make(map[string]int, len(terms)+len(stems))
	for _, term := range terms {
		counts[term]++
	}
	for _, stem := range stems {
		counts[stem]++
	}
	return counts, len(terms)
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
