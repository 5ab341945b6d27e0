package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
)

// fewWords are facts of 12 words each, from a vocabulary of 300: each shares a word with nearly half of the others.
func fewWords(n int) (facts []string) {
	dice := rand.New(rand.NewPCG(1, 1))
	for range n {
		var said []string
		for range 12 {
			said = append(said, fmt.Sprintf("w%dx", dice.IntN(300)))
		}
		facts = append(facts, strings.Join(said, " "))
	}
	return facts
}

// TestTheSameFactAmongManyInFewWords: a fact said again is found among any number of others, also in other case
// and with other words that do not count. Of facts that differ in one of twelve words, the search reads a limited part of the
// index: it finds all where the words are rare enough, and the newer ones where everything is said in the same words.
func TestTheSameFactAmongManyInFewWords(t *testing.T) {
	check.SkipUnderRace(t)
	c := imported(t, 3)
	facts := fewWords(4500)
	var all []memory.Exported
	for i, fact := range facts {
		all = append(all, memory.Exported{Memory: memory.Memory{Memory: store.Memory{
			Conversation: c.Name(), Kind: "fact", Content: fact, Speaker: "Ann", About: "Ann", SaidAt: time.Unix(int64(i), 0), State: "active", By: "worker", Importance: 0.5,
		}}})
	}
	check.Must(memory.In(c.Store()).Import(ctx, all))(t)
	exact := 0
	reworded := 0
	changed := 0
	var sample []int
	for i := 0; i < len(facts); i += 45 {
		sample = append(sample, i)
	}
	for _, i := range sample {
		if !keep(t, c, "Ann", facts[i]).Fresh {
			exact++
		}
		if !keep(t, c, "Ann", "The "+strings.ToUpper(facts[i])+", really!").Fresh {
			reworded++
		}
		words := strings.Fields(facts[i])
		words[i%12] = "other"
		check.NoError(t, c.Store().View(ctx, func(tx *store.Tx) {
			if memory.Closest(c, tx, strings.Join(words, " "), "Ann") == int64(i+1) {
				changed++
			}
		}))
	}
	check.Equal(t, "the same fact again", exact, len(sample))
	check.Equal(t, "the same in other case, with other words that do not count", reworded, len(sample))
	check.That(t, changed >= len(sample)*9/10, "of %d facts with another word, %d are found", len(sample), changed)
	t.Logf("%d of %d with another word are found among %d", changed, len(sample), len(facts))
}
