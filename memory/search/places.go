// Places: where in a transcript, and near which messages, the terms of a question occur.

package search

import (
	"cmp"
	"slices"
)

// postingsRead limits how many postings one question reads. Rare terms come first; a term beyond
// the limit is read only around the best messages found so far.
const postingsRead = 2000

// place is a message in which a term occurs, or near which it occurs.
type place struct {
	seq    int64
	count  float64 // in the message
	near   float64 // in the message and, with less weight, in those around it
	length int     // terms of the message; 0: the term is not in it
}

// trace is a term and the places where it occurs.
type trace struct {
	term
	places []place // by seq
	common bool    // not read completely
}

// at returns the place of a message.
func (t trace) at(seq int64) place {
	if i, found := slices.BinarySearchFunc(t.places, seq, func(p place, seq int64) int { return cmp.Compare(p.seq, seq) }); found {
		return t.places[i]
	}
	return place{}
}

// spread adds to postings, ordered by document, the places around them.
func spread(postings []Posting) []place {
	places := make([]place, 0, 3*len(postings))
	for _, p := range postings {
		last := p.Document - Reach - 1
		if n := len(places); n > 0 {
			last = max(last, places[n-1].seq)
		}
		for seq := last + 1; seq <= p.Document+Reach; seq++ {
			places = append(places, place{seq: seq})
		}
		end := len(places) - 1 // the place at p.Document+Reach
		for _, around := range nearby {
			if i := end - Reach + int(around.offset); i >= 0 {
				at := &places[i]
				at.near += around.weight * float64(p.Count)
				if around.offset == 0 {
					at.count, at.length = float64(p.Count), p.Length
				}
			}
		}
	}
	return places
}

// traces reads the places of the question's terms, the rarest first, up to postingsRead, but at
// least some of the rarest.
func (q *Query) traces(in Transcript) (all []trace) {
	q.lookUp(in)
	rarest := slices.Clone(q.terms)
	slices.SortStableFunc(rarest, func(a, b term) int { return cmp.Compare(a.frequency, b.frequency) })
	rest := postingsRead
	for i, of := range rarest {
		t := trace{term: of, common: of.frequency > rest}
		if !t.common || i == 0 {
			postings := t.read(func(term string) []Posting { return in.Postings(term, rest) })
			postings = postings[max(len(postings)-rest, 0):]
			rest -= len(postings)
			t.places = spread(postings)
		}
		all = append(all, t)
	}
	return all
}

// complete reads what traces left out, around the messages that matter.
func complete(traces []trace, in Transcript, seqs []int64) {
	for i := range traces {
		if t := &traces[i]; t.common {
			t.places = spread(t.read(func(term string) []Posting { return in.Around(term, seqs) }))
		}
	}
}

// scores returns the score by words of all places of the traces between the messages from and to,
// by seq: the best of them are examined further.
func scores(traces []trace, from, to int64) []scored {
	var all []scored
	heads := make([]int, len(traces)) // the next place of each
	for {
		next := to + 1
		for n, t := range traces {
			if heads[n] < len(t.places) {
				next = min(next, t.places[heads[n]].seq)
			}
		}
		if next > to {
			return all
		}
		s, length := scored{document: next}, 0
		for n, t := range traces {
			if heads[n] < len(t.places) && t.places[heads[n]].seq == next {
				length = max(length, t.places[heads[n]].length)
			}
		}
		if length == 0 {
			length = ordinary
		}
		for n, t := range traces {
			if heads[n] < len(t.places) && t.places[heads[n]].seq == next {
				s.score += t.gain(t.places[heads[n]].near, length)
				heads[n]++
			}
		}
		if next >= from {
			all = append(all, s)
		}
	}
}
