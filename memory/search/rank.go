// Ranking by words: where in a transcript, and near which messages, the terms of a question occur, and BM25 that
// also counts neighbours.

package search

import (
	"cmp"
	"math"
	"slices"

	"cairn/internal/words"
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

// nearby is what a word counts for the messages around it: people rarely repeat what was just written.
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

// texts returns the term and its stems.
func (t term) texts() []string { return append([]string{t.text}, t.stems...) }

func textsOf(terms []term) (texts []string) {
	for _, t := range terms {
		texts = append(texts, t.texts()...)
	}
	return texts
}

// of returns the postings of the term and of its stems, at most the first limit of each, by document; the one that finds a word most often
// counts.
func (t term) of(postings map[string][]words.Posting, limit int) (all []words.Posting) {
	for _, text := range t.texts() {
		list := postings[text]
		all = append(all, list[:min(limit, len(list))]...)
	}
	slices.SortFunc(all, func(x, y words.Posting) int {
		return cmp.Or(cmp.Compare(x.Document, y.Document), cmp.Compare(y.Count, x.Count))
	})
	return slices.CompactFunc(all, func(x, y words.Posting) bool { return x.Document == y.Document })
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
	least := math.Inf(-1)
	for _, s := range all {
		if s.score < least {
			continue
		}
		kept = append(kept, s)
		if len(kept) >= 4*limit {
			kept = sorted(kept)[:limit]
			least = kept[len(kept)-1].score
		}
	}
	return sorted(kept)[:min(limit, len(kept))]
}

// sorted sorts documents, the best first, and returns them.
func sorted(all []scored) []scored {
	slices.SortFunc(all, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.document, x.document))
	})
	return all
}

// postingsRead limits how many postings one question reads, the rarest terms first; a term beyond the limit is read only around
// the best messages found so far.
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
func spread(postings []words.Posting) []place {
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
					at.count = float64(p.Count)
					at.length = p.Length
				}
			}
		}
	}
	return places
}

// traces reads the places of the question's terms, the rarest first, up to postingsRead, but at least some of the rarest.
func (q *Query) traces(in Transcript) (all []trace) {
	q.lookUp(in)
	rarest := slices.Clone(q.terms)
	slices.SortStableFunc(rarest, func(a, b term) int { return cmp.Compare(a.frequency, b.frequency) })
	rest := postingsRead
	ahead := postingsAhead{in: in, only: q.only}
	for i, of := range rarest {
		t := trace{term: of, common: of.frequency > rest}
		if !t.common || i == 0 {
			postings := of.of(ahead.read(rarest[i:], rest), rest)
			postings = postings[max(len(postings)-rest, 0):]
			rest -= len(postings)
			t.places = spread(postings)
		}
		all = append(all, t)
	}
	return all
}

// postingsAhead reads the postings of several terms together: each read may wait for a server.
type postingsAhead struct {
	in     Transcript
	only   []int64                    // the only messages that are found; nil: all
	around bool                       // the postings are those around them
	known  map[string][]words.Posting // with an entry for each term that was read
}

// read returns the postings of the first of the terms. If it does not know them, it reads those of the next terms too, as many as probably
// fit into rest.
func (a *postingsAhead) read(terms []term, rest int) map[string][]words.Posting {
	around := a.only != nil && len(a.only) <= rest // then they are all that count
	if _, known := a.known[terms[0].text]; known && a.around == around {
		return a.known
	}
	n := 1
	for left := rest - terms[0].frequency; n < len(terms) && terms[n].frequency <= left; n++ {
		left -= terms[n].frequency
	}
	a.around = around
	if around {
		a.known = a.in.Around(textsOf(terms[:n]), a.only)
	} else {
		a.known = a.in.Postings(textsOf(terms[:n]), rest)
	}
	return a.known
}

// readAround reads the places of common terms around the messages.
func readAround(traces []trace, in Transcript, seqs []int64) {
	var common []term
	for _, t := range traces {
		if t.common {
			common = append(common, t.term)
		}
	}
	if len(common) == 0 {
		return
	}
	postings := in.Around(textsOf(common), seqs)
	for i := range traces {
		if t := &traces[i]; t.common {
			t.places = spread(t.of(postings, math.MaxInt))
		}
	}
}

// scores returns the score by words of all places of the traces between the messages from and to, by seq.
func scores(traces []trace, from, to int64) (all []scored) {
	heads := make([]int, len(traces))
	for {
		seq := to + 1
		length := 0
		for n, t := range traces {
			if p := t.placeOf(heads[n]); p.seq < seq {
				seq = p.seq
				length = p.length
			} else if p.seq == seq {
				length = max(length, p.length)
			}
		}
		if seq > to {
			return all
		}
		s := scored{document: seq}
		for n, t := range traces {
			if p := t.placeOf(heads[n]); p.seq == seq {
				s.score += t.gain(p.near, cmp.Or(length, ordinary))
				heads[n]++
			}
		}
		if seq >= from {
			all = append(all, s)
		}
	}
}

// placeOf returns a place by its index; behind the last one there is one that no message has.
func (t trace) placeOf(n int) place {
	if n < len(t.places) {
		return t.places[n]
	}
	return place{seq: math.MaxInt64}
}
