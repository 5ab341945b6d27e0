package compactor_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func (r *rig) refuse(t *testing.T, what string) (repair func()) {
	t.Helper()
	return storetest.Refuse(t, r.store, what, "the disk is full")
}

// faultyDisk is a store whose disk fails when a test says so.
type faultyDisk struct {
	memory.Records
	blind   bool // reading what has changed fails
	refuses bool // changing the head fails
	silent  bool // an undo succeeds, but its reply is lost
}

func (r *rig) faultyDisk() *faultyDisk {
	r.t.Helper()
	disk := &faultyDisk{}
	r.tune = append(r.tune, func(o *compactor.Options) {
		disk.Records = memory.Of(r.conv).Records()
		o.Records = disk
	})
	r.restart()
	return disk
}

func (f *faultyDisk) Reload(ctx context.Context, known int64, running []chat.Message) (transcript.Snapshot, error) {
	if f.blind {
		return transcript.Snapshot{}, errWorker
	}
	return f.Compactions.Reload(ctx, known, running)
}

func (f *faultyDisk) Commit(ctx context.Context, s *transcript.State, change transcript.Change) (compactor.Head, error) {
	if f.refuses {
		return compactor.Head{}, errWorker
	}
	head, err := f.Compactions.Commit(ctx, s, change)
	if f.silent && slices.ContainsFunc(change.Summaries, func(row compactor.Summary) bool { return row.State == compactor.Undone }) {
		return compactor.Head{}, cmp.Or(err, errWorker)
	}
	return head, err
}

func TestFailingDiskIsRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	for name, worker := range map[string]*llmtest.Model{"with a model": {Func: goodSummary}, "without one": nil} {
		onClock(t, name, func(t *testing.T) {
			r := newRig(t, 8000, worker)
			r.policy.FailureLimit = 1
			repair := r.refuse(t, "INSERT ON compactions")
			r.notesUntil(60, func() bool { r.waitIdle(); return r.seen(compactor.EventFailed) > 0 })
			for i := range 60 {
				r.deliverNotes(fmt.Sprint("note ", i))
				r.waitIdle()
				check.Require(t, r.seen(compactor.EventFailed) <= 20,
					"after %d minutes: got %d attempts to write", i, r.seen(compactor.EventFailed))
				time.Sleep(time.Minute)
			}
			repair()
			time.Sleep(time.Hour)
			r.waitIdle()
			check.That(t, r.seen(compactor.EventApplied) != 0, "got no applied summary after the disk recovered")
		})
	}
}

// If all messages that are hidden in memory alone are deleted, nothing is left to say or to write.
func TestFullDiskTruncatesInMemoryFirst(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		r := newRig(t, 8000, nil)
		r.policy.Enabled = false // only emergency
		disk := r.faultyDisk()
		disk.refuses = true
		for i := 0; i < 150 && (!all || len(r.c.Status().Stack) == 0); i++ {
			r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(60)))
			check.Require(t, r.share() < 0.95, "message %d: %v of the window used", i+1, r.share())
		}
		check.Contains(t, "view", r.render(), "older messages were truncated")
		deleted := []int64{2, 5}
		for seq := int64(1); all && seq <= r.c.Status().Stack[0].To; seq++ {
			deleted = append(deleted[:seq-1:seq-1], seq)
		}
		r.remove(deleted...)
		r.checkShown(t, r.c.Status())
		disk.refuses = false
		r.waitIdle()
		before := r.render()
		check.Equal(t, "messages are hidden", strings.Contains(before, "messages #"), !all)
		r.talk("and now?")
		check.Contains(t, "view", r.render(), strings.TrimRight(before, "\n"))
		r.checkShown(t, r.c.Status())
		r.renderAfterRestart()
	}
}

// A disk that takes the second of two truncations takes the first one with it: the newest messages stay visible.
func TestDiskTakesTruncationsInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, 8000, nil)
	r.policy.Enabled = false // only emergency
	disk := r.faultyDisk()
	disk.refuses = true
	r.notesUntil(150, func() bool { return len(r.c.Status().Stack) > 0 })
	disk.refuses = false
	r.resize(4000)
	r.c.Overflow(t.Context(), 1)
	check.NoError(t, r.c.Compactor.Transcript().Check())
	check.NoError(t, r.check())
	r.renderAfterRestart()
}

// A connector stores edits and deletions while the loop works: a decision made before the loop has
// noticed them is made again.
func TestUnnoticedChangesCauseNewDecision(t *testing.T) {
	slow(t)
	steps := map[string]func(r *rig) error{
		"an emergency": func(r *rig) error {
			r.resize(1100)
			r.c.Overflow(t.Context(), 1) // only takes its steps
			check.That(r.t, len(r.c.Status().Stack) != 0, "got no hidden messages")
			return nil
		},
		"a compaction": func(r *rig) error { r.compactAndWait(); return nil },
		"a new session": func(r *rig) error {
			started, err := r.c.StartSession(t.Context())
			if started {
				r.ends = append(r.ends, int64(len(r.messages)))
			}
			return err
		},
		"an undo": func(r *rig) error { r.compactAndWait(); return check.ErrorOf(r.c.Undo(t.Context())) },
	}
	changes := map[string]func(r *rig){
		"a deletion": func(r *rig) { check.NoError(r.t, check.ErrorOf(r.removeWithoutNotice(2, 3))) },
		"a pin": func(r *rig) {
			check.NoError(r.t, check.ErrorOf(r.conv.Transcript().Pin(t.Context(), 4, store.Person{Name: "Ada"})))
		},
	}
	for step, do := range steps {
		for what, change := range changes {
			t.Run(fmt.Sprintf("%s after %s", step, what), func(t *testing.T) {
				r := newRig(t, 8000, nil)
				r.deliverMany(12, 50)
				r.talk("question 12?", "a result "+filler(60), "another result "+filler(60))
				change(r)
				check.NoError(t, do(r))
				r.waitIdle()
				r.checkShown(t, r.c.Status())
				check.NoError(t, r.checkPublishedState())
			})
		}
	}
}

// A process may end after a summary is stored, but before the fold that makes room for it: the
// summary still waits for the fold.
func TestPreparedSummaryWaitsAfterRestart(t *testing.T) {
	slow(t)
	var r *rig
	var most atomic.Int64
	r = newRig(t, 100_000, wordyWorker(filler(600)))
	r.listen = func([]compactor.Event) {
		most.Store(max(most.Load(), int64(compactor.StackCost(r.c.Compactor.StatusReader()().Stack))))
	}
	r.policy.StackBudget = 0.02
	for range 3 {
		r.deliverMany(10, 400)
		r.compactAndWait()
	}
	r.deliverMany(10, 400)
	stack := r.c.Status().Stack
	row := compactor.Summary{
		Kind: compactor.Leaf, By: compactor.ByWorker, Trigger: compactor.OnManual, Text: filler(650),
		Span: compactor.Span{From: stack[len(stack)-1].To + 1, To: int64(len(r.messages) - 4)},
	}
	row.Messages = int(row.To - row.From + 1)
	j := check.Must(memory.Of(r.conv).Records().Begin(t.Context(), row))(t)
	check.NoError(t, check.ErrorOf(j.Store(t.Context(), summarize.Summary{Text: row.Text, Tokens: row.Cost()})))
	r.restart()
	r.waitIdle()
	g := r.c.Status()
	check.That(t, len(g.Prepared) == 0 && g.Lines == 4, "got %d prepared rows and %d verbatim messages", len(g.Prepared), g.Lines)
	check.That(t, most.Load() <= 0.02*100_000, "got a stack of %d tokens", most.Load())
}
