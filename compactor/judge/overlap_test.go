package judge

import (
	"slices"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

// TestOverlapsOfAllPassages: what a line shares with all passages at once is what it shares with each.
func TestOverlapsOfAllPassages(t *testing.T) {
	var said []chat.Message
	texts := slices.Concat(wordstest.Texts(), []string{"Ada bought two red bicycles in Turin.", "The bicycles are red, and Turin is far.", "Bicycle, bicycles; 2 cycles."})
	for i, text := range texts {
		said = append(said, chat.Message{Seq: int64(i + 1), Role: "user", Author: "Ada", Text: text})
	}
	e := Of(summarize.ItemsOf(said, summarize.MaxMessage)).evidence()
	shared := 0
	for _, text := range texts {
		x := &comparison{e, e.claimOf(text, -1, nil)}
		for i, o := range x.overlaps() {
			check.Equal(t, text, o, x.overlap(i))
			shared += o.shared
		}
	}
	check.That(t, shared > len(texts), "nothing was compared")
}
