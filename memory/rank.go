// Ranking: which documents speak of what a query asks, by BM25.

package memory

import (
	"cmp"
	"math"
	"slices"

	"cairn/words"
)

const (
	// k1 and b are BM25's: in short texts a word said twice tells little more than
	// one said once, and length tells little about worth.
	k1 = 0.9
	b  = 0.4

	// commonFrom is the number of documents from which a word that stands in more
	// than half of them is left out of a query: it costs the most and tells the least.
	commonFrom = 200

	maxQuery = 4096 // bytes of a query that are read
	maxTerms = 64   // terms of a query that are looked up
)

// count counts the terms of a document.
func count(terms []string) (counts map[string]int, length int) {
	counts = make(map[string]int, len(terms))
	for _, term := range terms {
		counts[term]++
	}
	return counts, len(terms)
}

// queryTerms cuts a query into different terms, sorted, so that scores add up in
// the same order every time.
func queryTerms(query string) []string {
	terms := words.Content(query[:min(len(query), maxQuery)])
	slices.Sort(terms)
	terms = slices.Compact(terms)
	return terms[:min(len(terms), maxTerms)]
}

// posting is a document in which a term stands.
type posting struct {
	document   int64
	tf, length int
}

// index is where ranking looks terms up.
type index struct {
	documents int
	count     func(term string) (int, error) // in how many documents a term stands
	postings  func(term string) ([]posting, error)
}

// score weighs the documents in which any of the terms stands.
func (x index) score(terms []string) (map[int64]float64, error) {
	type lookup struct {
		term string
		df   int
	}
	var all, telling []lookup
	for _, term := range terms {
		df, err := x.count(term)
		if err != nil {
			return nil, err
		}
		if df == 0 {
			continue
		}
		all = append(all, lookup{term, df})
		if x.documents < commonFrom || df <= x.documents/2 {
			telling = append(telling, lookup{term, df})
		}
	}
	if len(telling) == 0 { // common words are all there is
		telling = all
	}
	lists := make([][]posting, len(telling))
	var total, n float64
	for i, l := range telling {
		var err error
		if lists[i], err = x.postings(l.term); err != nil {
			return nil, err
		}
		for _, p := range lists[i] {
			total += float64(p.length)
		}
		n += float64(len(lists[i]))
	}
	average := total / max(n, 1)
	scores := make(map[int64]float64)
	for i, l := range telling {
		df := float64(l.df)
		idf := math.Log(1 + (max(float64(x.documents), df)-df+0.5)/(df+0.5))
		for _, p := range lists[i] {
			tf := float64(p.tf)
			scores[p.document] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(p.length)/average))
		}
	}
	return scores, nil
}

// best returns the limit best documents, best first; of equal ones the newer first.
func best(scores map[int64]float64, limit int) []int64 {
	documents := make([]int64, 0, len(scores))
	for document := range scores {
		documents = append(documents, document)
	}
	slices.SortFunc(documents, func(x, y int64) int {
		return cmp.Or(cmp.Compare(scores[y], scores[x]), cmp.Compare(y, x))
	})
	return documents[:min(max(limit, 0), len(documents))]
}
