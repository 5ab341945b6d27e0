package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// importText writes messages from a seed. One sentence in three begins as sentences do that are worth a memory, and one in six
// ends with a number or a day.
type importText struct {
	dice  *rand.Rand
	words func() string
}

// memorable are beginnings of sentences that the extractive summarizer takes for memories.
var memorable = []string{
	"I decided to", "I love", "My sister works with", "We agreed on", "I need to", "I live in", "I'm planning to", "I prefer",
	"My favourite thing is", "I was born in", "We have to", "I hope to",
}

// realLike returns text whose words follow Zipf's law, as those of real talk do, so that its vocabulary keeps growing.
func realLike(seed uint64) importText {
	dice := rand.New(rand.NewPCG(seed, 1))
	ranks := rand.NewZipf(dice, 1.1, 8, 60_000)
	return importText{dice, func() string { return rankedWord(ranks.Uint64()) }}
}

// smallVocabulary is the number of words that smallText uses.
const smallVocabulary = 300

// smallText returns text of few words, all equally frequent: whatever compares what shares a word compares everything.
func smallText(seed uint64) importText {
	dice := rand.New(rand.NewPCG(seed, 2))
	return importText{dice, func() string { return rankedWord(uint64(dice.IntN(smallVocabulary))) }}
}

// rankedWord returns the word of a rank: common ones first, then made-up ones.
func rankedWord(rank uint64) string {
	if rank < uint64(len(vocabulary)) {
		return vocabulary[rank]
	}
	const syllables = "bacedifoguhajekilomunapaqueriso"
	word := ""
	for n := rank; n > 0; n /= 14 {
		at := n % 14 * 2
		word += syllables[at : at+2]
	}
	return word
}

// message returns one message: 1 to 5 sentences, with a log-normal number of words.
func (t importText) message() string {
	var b strings.Builder
	for left := max(int(14*math.Exp(0.8*t.dice.NormFloat64())), 2); left > 0; {
		n := min(left, 5+t.dice.IntN(10))
		if t.dice.IntN(3) == 0 {
			b.WriteString(memorable[t.dice.IntN(len(memorable))] + " ")
		}
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(t.words())
		}
		if t.dice.IntN(6) == 0 {
			fmt.Fprintf(&b, " on %d %s", 1+t.dice.IntN(28), time.Month(1+t.dice.IntN(12)))
		}
		b.WriteString(". ")
		left -= n
	}
	return strings.TrimSpace(b.String())
}
