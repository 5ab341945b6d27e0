// Stretches of talk: messages without a long pause between them, which are mostly about one subject.

package search

import (
	"cmp"
	"slices"
	"time"
)

const (
	pause       = 6 * time.Hour // ends a stretch of talk
	ofStretches = 0.75          // added to the messages of the stretch with the best one
)

// addStretches raises the scores of messages by the best one of their stretch.
func addStretches(hits []Hit) {
	slices.SortFunc(hits, func(x, y Hit) int { return cmp.Compare(x.Seq, y.Seq) })
	top := bestScore(hits)
	if top <= 0 { // no word of the question is in them
		return
	}
	for len(hits) > 0 {
		end := 1
		for end < len(hits) && hits[end].Time.Sub(hits[end-1].Time).Abs() <= pause {
			end++
		}
		factor := 1 + ofStretches*bestScore(hits[:end])/top
		for n := range hits[:end] {
			hits[n].times("stretch", factor)
		}
		hits = hits[end:]
	}
}

func bestScore(hits []Hit) (best float64) {
	for _, h := range hits {
		best = max(best, h.Total)
	}
	return best
}
