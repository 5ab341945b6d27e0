package main

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"cairn/internal/words"
	"cairn/simulate"
)

// plainIndex finds messages by plain BM25, with the usual parameters: by the same words as Cairn's index, of each message alone.
type plainIndex struct {
	counts  map[string]map[int64]int // of each term, by seq
	lengths []int                    // of the messages, in terms
	average float64
}

func plainIndexOf(r recording) plainIndex {
	x := plainIndex{counts: make(map[string]map[int64]int)}
	for i, m := range r.said {
		text := m.Author + " " + m.Text
		for _, a := range m.Attachments {
			text += " " + a.Name + " " + a.Caption + " " + a.Text
		}
		terms := words.Content(text)
		for _, term := range terms {
			if x.counts[term] == nil {
				x.counts[term] = make(map[int64]int)
			}
			x.counts[term][int64(i+1)]++
		}
		x.lengths = append(x.lengths, len(terms))
		x.average += float64(len(terms)) / float64(len(r.said))
	}
	return x
}

// search returns the first 20 messages, the best first; of equally good ones the older first.
func (x plainIndex) search(question string) []int64 {
	const k1, b = 1.2, 0.75
	scores := make(map[int64]float64)
	for _, term := range slices.Sorted(maps.Keys(simulate.SetOf(words.Content(question)))) { // scores add up in one order
		n := float64(len(x.counts[term]))
		idf := math.Log(1 + (float64(len(x.lengths))-n+0.5)/(n+0.5))
		for seq, count := range x.counts[term] {
			tf := float64(count)
			scores[seq] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(x.lengths[seq-1])/x.average))
		}
	}
	found := slices.SortedFunc(maps.Keys(scores), func(p, q int64) int {
		return cmp.Or(cmp.Compare(scores[q], scores[p]), cmp.Compare(p, q))
	})
	return found[:min(20, len(found))]
}

// askPlainly asks all questions of all recordings by plain BM25.
func askPlainly(all []recording) (each []outcome) {
	for _, r := range all {
		x := plainIndexOf(r)
		for _, q := range r.asked {
			if q.hasAnswer() {
				each = append(each, outcomeOf(q.seqs, x.search(q.Text)))
			}
		}
	}
	return each
}
