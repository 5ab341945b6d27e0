package judge

import (
	"cmp"
	"slices"
)

// near returns the passages of messages, and those around them in the span.
func (e *evidence) near(passages []int) (all []int) {
	const before, after = 3, 2
	for _, i := range passages {
		if i >= e.spanEnd {
			all = append(all, i)
			continue
		}
		for k := max(i-before, 0); k <= min(i+after, e.spanEnd-1); k++ {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// overlap is how much a passage says of a line.
type overlap struct {
	words  float64 // rarity of the words they share, by weight
	shared int
}

// overlaps returns what overlap does, for all passages: it reads those that have a word of the line, not all words of all, and once.
func (x *comparison) overlaps() []overlap {
	if x.claim.overlaps != nil {
		return x.claim.overlaps
	}
	all := make([]overlap, len(x.e.passages))
	x.claim.overlaps = all
	weights := make([]float64, len(x.e.passages)) // of one word
	for _, k := range x.claim.keys {
		if k.number {
			continue
		}
		for _, form := range []string{k.short, k.stem} {
			for _, i := range x.e.holding[form] {
				weights[i] = max(weights[i], x.e.passages[i].keys[form])
			}
		}
		rarity := cmp.Or(x.e.rarity[k.short], x.e.rarity[k.stem])
		for _, form := range []string{k.short, k.stem} {
			for _, i := range x.e.holding[form] {
				if weights[i] > 0 {
					all[i].shared++
					all[i].words += weights[i] * rarity
					weights[i] = 0
				}
			}
		}
	}
	return all
}

func (x *comparison) overlap(i int) (o overlap) {
	p := &x.e.passages[i]
	for _, k := range x.claim.keys {
		weight := max(p.keys[k.short], p.keys[k.stem])
		if weight == 0 || k.number {
			continue
		}
		o.shared++
		o.words += weight * cmp.Or(x.e.rarity[k.short], x.e.rarity[k.stem])
	}
	return o
}
