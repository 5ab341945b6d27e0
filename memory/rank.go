// Ranking: which documents speak of what a query asks, by BM25.

package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"cairn/words"
)

const (
	// k1 and b are BM25's: in short texts a word said twice tells little more than
	// one said once, and length tells little about worth.
	k1 = 0.9
	b  = 0.4

	// ordinary is the number of terms of a text of ordinary length.
	ordinary = 12

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

// lookup is a term of a query.
type lookup struct {
	term string
	df   int     // in how many documents it stands
	idf  float64 // what it tells
}

// gain is what the term adds to the score of a document.
func (l lookup) gain(p posting) float64 {
	tf := float64(p.tf)
	return l.idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(p.length)/ordinary))
}

// index is where ranking looks terms up.
type index struct {
	documents int
	count     func(term string) (int, error) // in how many documents a term stands
	postings  func(term string) ([]posting, error)
	posting   func(term string, document int64) ([]posting, error) // of one document, if the term stands in it
}

// score weighs the documents in which any of the terms stands. The limit best have
// their exact scores; of the others some may be missing or have less than theirs.
func (x index) score(terms []string, limit int) (map[int64]float64, error) {
	telling, err := x.lookups(terms)
	if err != nil {
		return nil, err
	}
	rest := 0.0 // the most that the terms still to come can add
	for _, l := range telling {
		rest += l.idf * (k1 + 1)
	}
	scores := make(map[int64]float64)
	for _, l := range telling {
		// Common words come last. Once they cannot lift another document among the
		// best, their long lists are not read, only what they add to those found.
		least := 0.0
		if l.df > len(scores) {
			least = nth(scores, limit)
		}
		if least <= max(rest, 0) {
			list, err := x.postings(l.term)
			if err != nil {
				return nil, err
			}
			for _, p := range list {
				scores[p.document] += l.gain(p)
			}
		} else {
			for document, score := range scores {
				if score+rest < least {
					continue
				}
				list, err := x.posting(l.term, document)
				if err != nil {
					return nil, err
				}
				for _, p := range list {
					scores[document] += l.gain(p)
				}
			}
		}
		rest -= l.idf * (k1 + 1)
	}
	return scores, nil
}

// lookups returns the terms worth looking up, the rarest first.
func (x index) lookups(terms []string) ([]lookup, error) {
	var all, telling []lookup
	for _, term := range terms {
		df, err := x.count(term)
		if err != nil {
			return nil, err
		}
		if df == 0 {
			continue
		}
		n := float64(max(x.documents, df))
		l := lookup{term, df, math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))}
		all = append(all, l)
		if x.documents < commonFrom || df <= x.documents/2 {
			telling = append(telling, l)
		}
	}
	if len(telling) == 0 { // common words are all there is
		telling = all
	}
	slices.SortStableFunc(telling, func(a, b lookup) int { return cmp.Compare(a.df, b.df) })
	return telling, nil
}

// nth returns the n-th best score, 0 if there are fewer.
func nth(scores map[int64]float64, n int) float64 {
	if n < 1 || n > len(scores) {
		return 0
	}
	all := slices.Sorted(maps.Values(scores))
	return all[len(all)-n]
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
