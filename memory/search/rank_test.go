package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cairn/internal/words"
	"cairn/testkit/check"
)

// postingsOf is an index of terms with their documents, in order. It counts how often its postings are read.
type postingsOf struct {
	Transcript
	documents   map[string][]int64
	frequencies map[string]int // as they are estimated
	oldest      bool
	reads       int
}

func (p *postingsOf) Size() int                               { return 10_000 }
func (p *postingsOf) Languages() []string                     { return nil }
func (p *postingsOf) Members([]string) map[string]string      { return make(map[string]string) }
func (p *postingsOf) Frequencies([]string) (n map[string]int) { return p.frequencies }
func (p *postingsOf) postings(all []int64) (l []words.Posting) {
	for _, document := range all {
		l = append(l, words.Posting{Document: document, Count: int(document%3) + 1, Length: 9})
	}
	return l
}

func (p *postingsOf) Postings(terms []string, limit int) map[string][]words.Posting {
	p.reads++
	found := make(map[string][]words.Posting)
	for _, term := range terms {
		all := slices.Clone(p.documents[term])
		if !p.oldest {
			slices.Reverse(all)
		}
		found[term] = p.postings(all[:min(limit, len(all))])
	}
	return found
}

func (p *postingsOf) Around(terms []string, seqs []int64) map[string][]words.Posting {
	found := p.Postings(terms, math.MaxInt)
	for term, all := range found {
		found[term] = slices.DeleteFunc(all, func(of words.Posting) bool {
			return !slices.ContainsFunc(seqs, func(seq int64) bool { return max(seq-of.Document, of.Document-seq) <= Reach })
		})
	}
	return found
}

// oneByOne reads what traces reads, each term when its turn comes.
func oneByOne(q *Query, in *postingsOf) (all []trace) {
	rarest := slices.Clone(q.terms)
	slices.SortStableFunc(rarest, func(a, b term) int { return a.frequency - b.frequency })
	rest := postingsRead
	for i, of := range rarest {
		t := trace{term: of, common: of.frequency > rest}
		if !t.common || i == 0 {
			read := in.Postings
			if q.only != nil && len(q.only) <= rest {
				read = func(terms []string, _ int) map[string][]words.Posting { return in.Around(terms, q.only) }
			}
			postings := of.of(read(of.texts(), rest), math.MaxInt)
			postings = postings[max(len(postings)-rest, 0):]
			rest -= len(postings)
			t.places = spread(postings)
		}
		all = append(all, t)
	}
	return all
}

// Reading the postings of several terms together changes nothing but how often the index is read.
func TestPostingsAreReadAhead(t *testing.T) {
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 1))
		in := &postingsOf{documents: make(map[string][]int64), frequencies: make(map[string]int), oldest: dice.IntN(2) == 0}
		text := ""
		for i := range 2 + dice.IntN(6) {
			term := fmt.Sprintf("w%dx", i)
			text += term + " "
			share := math.Pow(dice.Float64(), 3)
			for document := range int64(6000) {
				if dice.Float64() < share {
					in.documents[term] = append(in.documents[term], document+1)
				}
			}
			in.frequencies[term] = 1 + int(float64(len(in.documents[term]))*(0.5+dice.Float64()))
		}
		q := Parse(text, "", time.Now())
		if dice.IntN(2) == 0 {
			var only []int64
			for n := range int64(dice.IntN(2500)) {
				only = append(only, 2*n)
			}
			q.Only(only)
		}
		is := q.traces(in)
		reads := in.reads
		in.reads = 0
		want := oneByOne(q, in)
		check.That(t, reads <= in.reads, "seed %d: read %d times, one by one %d times", seed, reads, in.reads)
		check.Require(t, len(is) == len(want), "seed %d: %d terms, not %d", seed, len(is), len(want))
		for i := range want {
			check.That(t, is[i].text == want[i].text && is[i].common == want[i].common && slices.Equal(is[i].places, want[i].places),
				"seed %d: term %d of %d differs", seed, i, len(want))
		}
	}
}

func TestRareTermsAreReadOnce(t *testing.T) {
	in := &postingsOf{
		documents:   map[string][]int64{"w1x": {1, 5}, "w2x": {2}, "w3x": {5, 7}},
		frequencies: map[string]int{"w1x": 2, "w2x": 1, "w3x": 2},
	}
	check.Len(t, "terms", Parse("w1x w2x w3x", "", time.Now()).traces(in), 3)
	check.Equal(t, "reads", in.reads, 1)
}
