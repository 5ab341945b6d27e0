package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// earlyFact is something that was said at the start of a long conversation.
type earlyFact struct{ who, said, content, attribute, value, question string }

var earlyFacts = []earlyFact{
	{"Ada", "I live in Lisbon with my two sons.", "Ada lives in Lisbon with her two sons", "home", "Lisbon", "Where does Ada live?"},
	{"Ben", "I live in Trondheim, near the harbour.", "Ben lives in Trondheim, near the harbour", "home", "Trondheim", "Where does Ben live?"},
	{"Ada", "I work as a nurse at the Santa Maria hospital.", "Ada works as a nurse at the Santa Maria hospital", "employer", "Santa Maria hospital", "Where does Ada work?"},
	{"Ben", "I am allergic to hazelnuts.", "Ben is allergic to hazelnuts", "", "", "What is Ben allergic to?"},
	{"Ada", "I was born on 3 March 1988.", "Ada was born on 3 March 1988", "birthday", "3 March 1988", "When was Ada born?"},
	{"Ben", "I own a blue sailing boat called Petrel.", "Ben owns a blue sailing boat called Petrel", "boat", "Petrel", "What is the name of Ben's sailing boat?"},
	{"Ada", "My sister Ines lives in Porto.", "Ada's sister Ines lives in Porto", "", "", "Where does Ada's sister live?"},
	{"Ben", "I play the cello in an orchestra.", "Ben plays the cello in an orchestra", "", "", "What does Ben play?"},
}

// savesEarlyFacts is a worker that saves the facts whose messages it reads.
func savesEarlyFacts(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	if len(req.Messages) > 2 || !savesMemories(req) {
		return goodSummary(ctx, n, req)
	}
	var memories []map[string]any
	for i, f := range earlyFacts {
		if strings.Contains(materialIn(req), f.said) {
			memories = append(memories, map[string]any{
				"content": f.content, "kind": "fact", "messages": []int{i + 1}, "about": f.who, "attribute": f.attribute, "value": f.value,
			})
		}
	}
	if len(memories) == 0 {
		return goodSummary(ctx, n, req)
	}
	return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"memories": memories})), nil
}

// After thousands of turns, facts from the first messages are found by a question, whole, and with the right speaker.
func TestEarlyFactsStand(t *testing.T) {
	check.SkipUnderRace(t)
	const turns = 3000
	weather := func(i int) string {
		return fmt.Sprintf("Day %d: the %s was %s again.", i, []string{"sky", "sea", "garden", "street"}[i%4], []string{"grey", "calm", "wet", "quiet", "empty"}[i%5])
	}
	for name, worker := range map[string]*llmtest.Model{"with a model's saves": {Func: savesEarlyFacts}, "without a model": nil} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 4000, worker)
			for _, f := range earlyFacts {
				r.arrive(store.Inbound{AuthorID: "id-" + f.who, Author: f.who, Text: f.said})
			}
			for said := 0; said < turns; said += 100 {
				r.arriveMany(100, func(i int) string { return weather(said + i) })
				r.waitIdle()
			}
			for _, f := range earlyFacts {
				found, _, err := memory.Of(r.conv).List(t.Context(), memory.Filter{Query: f.question, State: "known", Limit: 3})
				check.NoError(t, err)
				want := f.content
				if worker == nil {
					want = f.said
				}
				stands := func(m memory.Memory) bool {
					return strings.Contains(m.Content, strings.TrimSuffix(want, ".")) && m.Speaker == f.who && m.State == "active"
				}
				check.That(t, slices.ContainsFunc(found, stands), "%s: got %+v", f.question, found)
			}
		})
	}
}
