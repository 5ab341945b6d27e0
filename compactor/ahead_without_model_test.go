package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/memory"
)

// Without a model no level is awaited: messages become memories soon, and once.
func TestExtractiveMemoriesAreSavedEarly(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, 128_000, nil)
	r.policy.PrepareThreshold = -1
	saved := func(text string) (n int) {
		memories, _, err := memory.In(r.store).List(ctx, memory.Filter{Conversation: r.conv.Name()})
		check.NoError(t, err)
		for _, m := range memories {
			if strings.Contains(m.Content, text) {
				n++
			}
		}
		return n
	}
	r.talk("My name is Ines and I live in Faro.")
	r.talk("I sold my motorcycle and bought a cargo bike.")
	for saved("cargo bike") == 0 {
		if r.share() > 0.05 {
			t.Fatalf("got no memory at %.3f of the window", r.share())
		}
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.waitIdle()
	}
	g := r.c.Status()
	if len(g.Stack) != 0 || len(g.Prepared) == 0 {
		t.Fatalf("got %d applied and %d prepared summaries, want 0 and 1", len(g.Stack), len(g.Prepared))
	}
	prepared := g.Prepared[0]
	r.resize(8_000) // now a level is reached
	r.talkUntilUsage(func() bool { return len(r.c.Status().Stack) > 0 })
	check.Equal(t, "start of the applied summary", r.c.Status().Stack[0].From, prepared.From)
	check.Equal(t, "copies of the memory", saved("cargo bike"), 1)
	r.verify()
}

// The extractive summarizer does not wait for the models of other conversations.
func TestExtractiveSummarizerNeedsNoSlot(t *testing.T) {
	slots := make(chan struct{}, 1)
	slots <- struct{}{}
	r := tuned(t, 100_000, nil, func(o *compactor.Options) { o.Slots = slots })
	r.chat(40)
	if e := r.compact(""); e.State != compactor.EventApplied {
		t.Errorf("got %+v", e)
	}
}
