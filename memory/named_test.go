package memory_test

import (
	"slices"
	"testing"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// A question whose words nobody has used finds what the person whom it names wrote, and what others wrote of them.
func TestRecallOfWhomAQuestionNames(t *testing.T) {
	c := talked(
		t,
		spoken(1, 0, "Ben", "my cousin visits on Sunday, so the flat is full"),
		spoken(2, 1, "Cleo", "back from Portugal, my skin is peeling"),
		spoken(3, 2, "Ada", "the heating is broken again"),
		spoken(4, 3, "Dan", "Ben moved to Lisbon in May"),
		spoken(5, 4, "Ada", "has anybody seen the blue folder?"),
	)
	for question, want := range map[string][]int64{
		"which countries has Cleo been to?": {2},
		"where does Ben live now?":          {1, 4},
		"which countries does Eve know?":    nil,
	} {
		found := seqsFound(t, c, memory.Question{Text: question, Limit: 5})
		slices.Sort(found)
		check.EqualAll(t, question, found, want)
	}
	check.Equal(t, "a word that somebody used comes first", seqsFound(t, c, memory.Question{Text: "who broke Cleo's heating?", Limit: 5})[0], 3)
	two := []*store.Conversation{c, storetest.Find(t, c.Store(), "terminal:other")}
	storetest.Deliver(t, two[1], spoken(1, 0, "Dan", "which countries does one see from there?"))
	for _, f := range check.Must(memory.RecallFrom(ctx, c.Store(), two, memory.Question{Text: "which countries has Cleo been to?", Limit: 5}))(t) {
		check.Equal(t, "where the words occur", f.In.Name(), "terminal:other")
	}
}
