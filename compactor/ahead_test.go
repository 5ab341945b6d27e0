package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// ahead is a rig that works ahead.
func ahead(t *testing.T, window int) *rig {
	r := newRig(t, window, &llmtest.Model{Func: good})
	r.policy.PrepareThreshold = -1
	return r
}

// share is how full the window is.
func (r *rig) share() float64 {
	g := r.c.Gauge()
	return float64(g.Used) / float64(g.Window)
}

// above is what stands above the verbatim messages.
func (r *rig) above() string {
	head, _, _ := strings.Cut(r.render(), "</kept>")
	return head
}

func TestWorkAheadIsShownWhenALevelIsReached(t *testing.T) {
	r := ahead(t, 10_000)
	fill := func(share float64) {
		for i := 0; r.share() < share; i++ {
			r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
			r.settle()
			if n := len(r.c.Gauge().Stack); n != 0 {
				t.Fatalf("%d summaries are shown at %.3f", n, r.share())
			}
		}
	}
	fill(0.59)
	if n := len(r.c.Gauge().Prepared); n != 0 {
		t.Fatalf("%d summaries were made below prepare_threshold", n)
	}
	fill(0.78)
	g := r.c.Gauge()
	if len(g.Prepared) < 2 {
		t.Fatalf("%d summaries are ready at %.3f", len(g.Prepared), r.share())
	}
	for i, row := range g.Prepared {
		if i > 0 && row.From != g.Prepared[i-1].To+1 {
			t.Errorf("%d to %d follows %d to %d", row.From, row.To, g.Prepared[i-1].From, g.Prepared[i-1].To)
		}
	}
	for len(r.c.Gauge().Stack) == 0 {
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	if after := r.c.Gauge(); float64(after.Verbatim) > 0.7*float64(g.Verbatim) {
		t.Errorf("%d tokens are verbatim of %d", after.Verbatim, g.Verbatim)
	}
	r.verify()
}

func TestWorkAheadIsShownWhenTheCacheIsCold(t *testing.T) {
	for name, c := range map[string]struct {
		provider func() time.Duration
		set      compactor.TTL
		want     time.Duration
	}{
		"after 5 minutes where nobody says":       {nil, compactor.AutoTTL, 5 * time.Minute},
		"after as long as the provider says":      {func() time.Duration { return time.Hour }, compactor.AutoTTL, time.Hour},
		"after as long as is set, if anything is": {func() time.Duration { return time.Hour }, compactor.TTL(time.Minute), time.Minute},
	} {
		t.Run(name, func(t *testing.T) { coldAfter(t, c.provider, c.set, c.want) })
	}
}

// coldAfter talks until there is work ahead, and wants the cache to be warm for ttl.
func coldAfter(t *testing.T, provider func() time.Duration, set compactor.TTL, ttl time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		r := ahead(t, 10_000)
		r.close()
		r.tune, r.policy.CacheTTL = func(o *compactor.Options) { o.CacheTTL = provider }, set
		r.open()
		for r.share() < 0.7 {
			r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
			r.settle()
		}
		before := r.above()
		time.Sleep(ttl - time.Second)
		if r.above() != before {
			t.Error("the head changed while the cache was warm")
		}
		time.Sleep(ttl)
		r.c.Check(context.Background()) // nobody asks the model: nothing is shown again for it
		if len(r.c.Gauge().Stack) != 0 {
			t.Error("the head changed without a request")
		}
		if r.above() == before {
			t.Error("the head is the old one although the cache is cold")
		}
		r.verify()
		r.close()
	})
}

// What was ready is less than the level demands: the rest goes to the worker.
func TestWhatALevelDemandsBeyondWhatIsReady(t *testing.T) {
	r := ahead(t, 10_000)
	r.policy.BackgroundFraction = 0.9
	r.policy.KeepLastN = 0
	for len(r.c.Gauge().Prepared) == 0 {
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	r.set(func(p *compactor.Policy) { p.PrepareThreshold = 0.799 }) // no more of it
	verbatim := 0
	for len(r.c.Gauge().Stack) == 0 {
		verbatim = r.c.Gauge().Verbatim
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	g := r.c.Gauge()
	prepared := 0
	for _, row := range g.Prepared {
		for _, m := range r.said[row.From-1 : row.To] {
			prepared += m.Tokens
		}
	}
	if left := g.Verbatim - prepared; left > verbatim*2/10 {
		t.Errorf("of %d tokens %d are left", verbatim, left)
	}
	r.verify()
}

func TestNobodyPaysForTalkAmongPeople(t *testing.T) {
	r := ahead(t, 8000)
	r.quiet = true
	r.hearAndSettle(300, 40)
	if n := len(r.worker.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	for _, row := range r.c.Gauge().Stack {
		if row.By != compactor.ByExtractive {
			t.Errorf("row %d is by %s", row.ID, row.By)
		}
	}
	r.restart() // which must not make it think that somebody spoke
	r.settle()
	if n := len(r.worker.Requests()); n != 0 {
		t.Errorf("after a restart the model was asked %d times", n)
	}
	r.talk("and what do you think?")
	for range 20 {
		r.settle()
	}
	stack := r.c.Gauge().Stack
	for _, row := range stack[max(len(stack)-2, 0):] { // what stands next to the question
		repaired := row.By == compactor.ByWorker
		for _, s := range r.c.Gauge().Prepared {
			repaired = repaired || s.By == compactor.ByWorker && s.From <= row.From && row.To <= s.To
		}
		if !repaired && row.Kind == compactor.Leaf {
			t.Errorf("row %d is by %s although somebody spoke to the bot", row.ID, row.By)
		}
	}
	r.verify()
}

// Between two changes of the head each request begins as the one before did, so
// that the provider's cache holds; and the head changes rarely.
func TestRequestsGrowAtTheirEnd(t *testing.T) {
	r := ahead(t, 12_000)
	var last []byte
	changes, requests := 0, 0
	look := func() {
		now := []byte(r.render())
		requests++
		n := 0
		for n < len(last) && n < len(now) && last[n] == now[n] {
			n++
		}
		if n < len(last) {
			changes++
		}
		last = now
	}
	for i := range 200 {
		var results []string
		if i%7 == 0 {
			results = []string{"result " + filler(200), "result " + filler(30)}
		}
		r.hook = look
		r.talk(fmt.Sprintf("question %d %s", i, filler(60+i%50)), results...)
		r.hook = nil
		r.settle()
	}
	appliedSets := r.seen(compactor.EventApplied)
	t.Logf("%d requests, %d changes of the head, %d rows were applied", requests, changes, appliedSets)
	if changes == 0 || changes*12 > requests {
		t.Errorf("the head changed %d times in %d requests", changes, requests)
	}
	r.verify()
}

// inOrder fails if a summary stands above messages that are older. It does not load the
// state: that would fail the row of a worker that runs.
func (r *rig) inOrder() {
	r.t.Helper()
	head, _, err := r.conv.Compactions().Head(r.t.Context())
	must(r.t, err)
	shown := head.Start // the oldest message that no summary covers
	for _, row := range head.Stack {
		if row.From <= shown {
			shown = row.To + 1
		}
	}
	for _, row := range head.Stack {
		if row.To > shown && shown < int64(len(r.said)) {
			r.t.Fatalf("a summary of %d to %d stands above message %d", row.From, row.To, shown)
		}
	}
}

// prepared talks until so many summaries wait.
func (r *rig) prepared(n int) {
	r.t.Helper()
	for len(r.c.Gauge().Prepared) < n {
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	if rows := r.c.Gauge().Stack; len(rows) > 0 {
		r.t.Fatalf("something was applied: %+v", rows)
	}
}

// What was made ahead of a message that people changed does not be applied: what was made
// of later ones waits until the earlier ones are summarized again.
func TestWorkAheadIsAppliedInOrder(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a restart %v", restarts), func(t *testing.T) {
			r := ahead(t, 10_000)
			r.prepared(2)
			r.edit(r.c.Gauge().Prepared[0].From, "otherwise")
			if restarts {
				r.restart()
			}
			r.set(func(p *compactor.Policy) { p.CacheTTL = 0 })
			for len(r.c.Gauge().Stack) == 0 {
				r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
				r.inOrder()
				r.settle()
				r.inOrder()
			}
			r.verify()
			r.asRestarted()
		})
	}
}

// Somebody who asks gets what is ready, also if what else there is is not worth a summary.
func TestWhatIsReadyIsAppliedOnARequest(t *testing.T) {
	for older := range 2 {
		r := ahead(t, 10_000)
		r.policy.TailTokens = 500
		for len(r.c.Gauge().Prepared) < 3 {
			r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(5)))
			r.settle()
		}
		prepared := r.c.Gauge().Prepared
		rest := len(r.said) - int(prepared[len(prepared)-1].To)
		r.set(func(p *compactor.Policy) { p.TailTokens, p.KeepLastN = 2500, rest-2*older })
		e := r.compactAndSettle()
		if n := len(r.c.Gauge().Stack); n < len(prepared) {
			t.Errorf("with %d turns that are older: %+v; %d of %d summaries are shown", older, e, n, len(prepared))
		}
		r.verify()
	}
}

// Without a model nobody waits for a level: what people say becomes a memory soon, and once.
func TestMemoriesExistSoonWithoutAModel(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, 128_000, nil)
	r.policy.PrepareThreshold = -1
	saved := func(text string) (n int) {
		memories, _, err := r.store.Memories(ctx, memory.Filter{Conversation: r.conv.Name()})
		must(t, err)
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
			t.Fatalf("there is no memory at %.3f of the window", r.share())
		}
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	g := r.c.Gauge()
	if len(g.Stack) != 0 || len(g.Prepared) == 0 {
		t.Fatalf("%d summaries are shown and %d wait; want none and one", len(g.Stack), len(g.Prepared))
	}
	prepared := g.Prepared[0]
	r.resize(8_000) // now a level is reached
	for len(r.c.Gauge().Stack) == 0 {
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	if first := r.c.Gauge().Stack[0]; first.From != prepared.From {
		t.Errorf("the summary shown begins at #%d, the prepared one at #%d", first.From, prepared.From)
	}
	if n := saved("cargo bike"); n != 1 {
		t.Errorf("it is saved %d times", n)
	}
	r.verify()
}

// With prepare_threshold = 0 nothing is made ahead, with a model or without.
func TestWithoutAModelWorkAheadCanBeOff(t *testing.T) {
	r := newRig(t, 128_000, nil)
	for r.share() < 0.1 {
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.settle()
	}
	if n := len(r.c.Gauge().Prepared); n != 0 {
		t.Errorf("%d summaries were made ahead", n)
	}
}
