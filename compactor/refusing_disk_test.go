package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/transcript"
)

// refuseCompactions makes the disk reject new compactions until the returned function is called.
func (r *rig) refuseCompactions(t *testing.T) (mend func()) {
	t.Helper()
	return r.refuse(t, "INSERT ON compactions")
}

// refuse makes the disk reject a table's writes until the returned function is called.
func (r *rig) refuse(t *testing.T, what string) (mend func()) {
	t.Helper()
	run := func(query string) {
		db := raw(t, r.dir)
		defer db.Close()
		check.NoError(t, check.ErrorOf(db.Exec(query)))
	}
	run("CREATE TRIGGER refuse BEFORE " + what + " BEGIN SELECT raise(ABORT, 'the disk is full'); END")
	return func() { run("DROP TRIGGER refuse") }
}

// faultyDisk is a store whose disk fails when a test says so.
type faultyDisk struct {
	memory.Records
	blind   bool       // reading the head fails
	refuses bool       // changing the head fails
	undo    *undoFault // how it undoes; nil: normally
}

// faultyDisk restarts the rig on such a store.
func (r *rig) faultyDisk() *faultyDisk {
	r.t.Helper()
	disk := &faultyDisk{}
	r.tune = func(o *compactor.Options) {
		disk.Records = memory.Of(r.conv).Records()
		o.Records = disk
	}
	r.restart()
	return disk
}

func (f *faultyDisk) Head(ctx context.Context) (compactor.Head, []chat.Message, error) {
	if f.blind {
		return compactor.Head{}, nil, errWorker
	}
	return f.Compactions.Head(ctx)
}

func (f *faultyDisk) Commit(ctx context.Context, s *transcript.State, change transcript.Change) (compactor.Head, error) {
	commit := func() (compactor.Head, error) { return f.Compactions.Commit(ctx, s, change) }
	switch {
	case f.refuses:
		return compactor.Head{}, errWorker
	case f.undo != nil && slices.ContainsFunc(change.Summaries, func(row compactor.Compaction) bool { return row.State == compactor.Undone }):
		return f.undo.commit(commit)
	}
	return commit()
}

func TestFailingDiskIsRetriedWithBackoff(t *testing.T) {
	for name, worker := range map[string]*llmtest.Model{"with a model": {Func: goodSummary}, "without one": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 8000, worker)
				r.policy.FailureLimit = 1
				mend := r.refuseCompactions(t)
				r.notesUntil(60, func() bool { r.waitIdle(); return r.seen(compactor.EventFailed) > 0 })
				for i := range 60 {
					r.deliverNotes(fmt.Sprint("note ", i))
					if r.waitIdle(); r.seen(compactor.EventFailed) > 20 {
						t.Fatalf("after %d minutes: got %d attempts to write", i, r.seen(compactor.EventFailed))
					}
					time.Sleep(time.Minute)
				}
				mend()
				time.Sleep(time.Hour)
				r.waitIdle()
				check.That(t, r.seen(compactor.EventApplied) != 0, "got no applied summary after the disk recovered")
				r.verify()
			})
		})
	}
}

// If all messages that are hidden in memory alone are deleted, nothing is left to say or to write.
func TestDeletedMessagesHiddenInMemoryLeaveNothing(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.policy.Enabled = false // only emergency
	disk := r.faultyDisk()
	disk.refuses = true
	r.notesUntil(30, func() bool { return len(r.c.Status().Stack) > 0 })
	var hidden []int64
	for seq := range r.c.Status().Stack[0].To {
		hidden = append(hidden, seq+1)
	}
	r.remove(hidden...)
	disk.refuses = false
	r.c.Check(t.Context())
	before := r.render()
	check.Lacks(t, "view", before, "truncated")
	r.talk("and now?")
	check.Contains(t, "view", r.render(), strings.TrimRight(before, "\n"))
	r.verify()
	r.renderAfterRestart()
}
