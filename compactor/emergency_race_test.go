package compactor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
)

// The summary of hidden messages arrives after the emergency, whose placeholder the disk stored or
// rejected: the messages behind the summary are not hidden again.
func TestSummaryArrivesAfterEmergency(t *testing.T) {
	t.Parallel()
	for _, want := range []bool{false, true} {
		for _, refuses := range []bool{false, true} {
			t.Run(fmt.Sprintf("a wish: %v, the disk refuses: %v", want, refuses), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { applyLate(t, want, refuses) })
			})
		}
	}
}

func applyLate(t *testing.T, want, refuses bool) {
	t.Helper()
	release := make(chan struct{})
	r := newRig(t, 2000, held(release, goodSummary))
	disk := r.faultyDisk()
	defer r.close()
	for r.share() < 0.95 {
		r.deliver(fmt.Sprintf("note %d %s", len(r.said), filler(60)), false)
		if r.c.Speak(); !want && r.c.Status().Running == nil {
			r.c.Check(t.Context())
		}
	}
	if want {
		r.c.Compact(compactor.OnManual, "")
	}
	synctest.Wait() // the worker is at the model
	disk.refuses = refuses
	r.c.Overflow(t.Context()) // takes only the steps of an emergency
	close(release)
	check.NoError(t, r.c.Wait(context.Background()))
	disk.refuses = false
	r.waitIdle()
	r.repaired()
	check.NoError(t, r.checkShown())
	r.verify()
}

// What a worker is reading stays if the summaries that are ready make enough room.
func TestEmergencyStopsWhenReadySummariesSuffice(t *testing.T) {
	release, hangs := make(chan struct{}), false
	r := ahead(t, 20_000)
	r.worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if hangs {
			<-release
		}
		return goodSummary(ctx, n, req)
	}
	r.policy.TailTokens = 1000
	r.talkUntilUsage(func() bool { return len(r.c.Status().Prepared) > 0 })
	hangs = true
	for r.c.Status().Running == nil {
		r.talk("more " + filler(60))
	}
	if !r.c.Overflow(t.Context()) || len(r.c.Status().Stack) == 0 {
		t.Fatalf("got no applied summary: %+v", r.c.Status())
	}
	r.noPlaceholder()
	close(release)
	r.waitIdle()
	r.verify()
}
