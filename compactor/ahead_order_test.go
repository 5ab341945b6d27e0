package compactor_test

import (
	"fmt"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"
)

// Between two changes of the head each request begins as the one before did, so
// that the provider's cache holds; and the head changes rarely.
func TestRequestsGrowOnlyAtEnd(t *testing.T) {
	check.SkipUnderRace(t)
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
		r.waitIdle()
	}
	appliedSets := r.seen(compactor.EventApplied)
	t.Logf("%d requests, %d changes of the head, %d rows were applied", requests, changes, appliedSets)
	if changes == 0 || changes*12 > requests {
		t.Errorf("got %d head changes in %d requests", changes, requests)
	}
	r.verify()
}

// inOrder fails if a summary is above older messages. It does not load the state: loading would
// fail the row of a running worker.
func (r *rig) inOrder() {
	r.t.Helper()
	head, _, err := r.conv.Compactions().Head(r.t.Context())
	check.NoError(r.t, err)
	shown := head.Start // the oldest message that no summary covers
	for _, row := range head.Stack {
		if row.From <= shown {
			shown = row.To + 1
		}
	}
	for _, row := range head.Stack {
		if row.To > shown && shown < int64(len(r.said)) {
			r.t.Fatalf("a summary of #%d to #%d is above the older message #%d", row.From, row.To, shown)
		}
	}
}

// prepared talks until this many summaries are prepared.
func (r *rig) prepared(n int) {
	r.t.Helper()
	r.talkUntilUsage(func() bool { return len(r.c.Status().Prepared) >= n })
	if rows := r.c.Status().Stack; len(rows) > 0 {
		r.t.Fatalf("got %+v applied, want nothing", rows)
	}
}

// A prepared summary of changed messages is stale, and is not applied. Those of later messages wait
// until the earlier ones are summarized again.
func TestPreparedSummariesApplyInOrder(t *testing.T) {
	check.SkipUnderRace(t)
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a restart %v", restarts), func(t *testing.T) {
			r := ahead(t, 10_000)
			r.prepared(2)
			r.edit(r.c.Status().Prepared[0].From, "otherwise")
			if restarts {
				r.restart()
			}
			r.set(func(p *compactor.Policy) { p.CacheTTL = 0 })
			for len(r.c.Status().Stack) == 0 {
				r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
				r.inOrder()
				r.waitIdle()
				r.inOrder()
			}
			r.verify()
			r.renderAfterRestart()
		})
	}
}

// A request applies the prepared summaries even if nothing else is worth a summary.
func TestRequestAppliesPreparedSummaries(t *testing.T) {
	check.SkipUnderRace(t)
	for older := range 2 {
		r := ahead(t, 10_000)
		r.policy.TailTokens = 500
		for len(r.c.Status().Prepared) < 3 {
			r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(5)))
			r.waitIdle()
		}
		prepared := r.c.Status().Prepared
		rest := len(r.said) - int(prepared[len(prepared)-1].To)
		r.set(func(p *compactor.Policy) { p.TailTokens, p.KeepLastN = 2500, rest-2*older })
		e := r.compactAndWait()
		if n := len(r.c.Status().Stack); n < len(prepared) {
			t.Errorf("%d older turns: %+v; %d of %d summaries applied", older, e, n, len(prepared))
		}
		r.verify()
	}
}
