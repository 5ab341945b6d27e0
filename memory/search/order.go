// Limits of what a question finds, and its order: the best first, or by time.

package search

import (
	"cmp"
	"slices"

	"cairn/internal/words"
)

// Order is the order of the messages that a question finds.
type Order int

const (
	BestFirst Order = iota // of equally good ones the newer first
	NewestFirst
	OldestFirst
)

// Only limits the messages to find to these, given in order.
func (q *Query) Only(seqs []int64) { q.only = append([]int64{}, seqs...) }

// among returns those of the messages that may be found.
func (q *Query) among(all []scored) []scored {
	if q.only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(s scored) bool {
		_, found := slices.BinarySearch(q.only, s.document)
		return !found
	})
}

// In sets the order of the messages to find.
func (q *Query) In(order Order) { q.order = order }

// asGood is the share of the best score that a message needs in an order by time: a few words in common are no match.
const asGood = 0.5

// candidates returns those of the messages, scored by their words, that are scored by more than these.
func (q *Query) candidates(all []scored, limit int) []scored {
	const examined = 100 // at least that many
	limit = max(examined, 4*limit)
	all = q.among(all)
	if q.order == BestFirst || len(all) == 0 {
		return best(all, limit)
	}
	most := slices.MaxFunc(all, func(x, y scored) int { return cmp.Compare(x.score, y.score) }).score
	all = slices.DeleteFunc(all, func(s scored) bool { return s.score < asGood*most })
	if q.order == OldestFirst {
		return all[:min(limit, len(all))]
	}
	return all[max(len(all)-limit, 0):]
}

// sort sorts messages. In an order by time it removes those that are much worse than the best one.
func (q *Query) sort(hits []Hit) []Hit {
	slices.SortFunc(hits, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(y.Seq, x.Seq))
	})
	if q.order == BestFirst || len(hits) == 0 {
		return hits
	}
	enough := asGood * hits[0].Total
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Total < enough })
	slices.SortFunc(hits, func(x, y Hit) int {
		earlier := cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Seq, y.Seq))
		if q.order == NewestFirst {
			return -earlier
		}
		return earlier
	})
	return hits
}

// Wordless reports whether the question has no word to search for.
func (q *Query) Wordless() bool { return len(q.words) == 0 }

// SaysMe reports whether a word means the person who says it.
func SaysMe(word string) bool { return firstPerson[words.Fold(word)] }
