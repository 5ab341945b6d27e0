package store_test

import (
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
	"cairn/transcript"
)

// A summary that waited in an earlier session may be applied together with what a user undoes:
// the undo does not affect it.
func TestUndoKeepsEarlierSessions(t *testing.T) {
	begin := func(t *testing.T) (c *store.Conversation, early []int64) {
		c = storetest.Imported(t, 9)
		a, b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 4), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 5, 9)
		storetest.ApplyRows(t, c, a, b)
		startSession(t, c)
		for i := 10; i < 20; i++ {
			storetest.Deliver(t, c, storetest.Said(i, "anew"))
		}
		return c, []int64{a, b}
	}
	t.Run("with a leaf", func(t *testing.T) {
		c, early := begin(t)
		before := storetest.Load(t, c)
		fold, late := storetest.StoreSummary(t, c, transcript.Rollup, transcript.Worker, 1, 9, early...), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 10, 14)
		storetest.ApplyRows(t, c, fold, late)
		if l := latest(t, c); l.Why != "" || storetest.Shape(l.Rows) != "leaf worker 10-14" || len(l.Ended) != 0 || len(l.Freed) != 5 {
			t.Fatalf("the latest compaction is %+v", l)
		}
		undo(t, c)
		after := storetest.Load(t, c)
		if !reflect.DeepEqual(after.Head.Stack, before.Head.Stack) || !reflect.DeepEqual(after.Messages, before.Messages) {
			t.Errorf("before\n%+v\nafter\n%+v", before, after)
		}
		wantSessions(t, c, "1-9 [rollup worker 1-9] settled")
		check.Equal(t, "then", latest(t, c).Why, store.BeforeTheStart)
	})
	t.Run("one compaction after the other", func(t *testing.T) {
		c, early := begin(t)
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 10, 12))
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Rollup, transcript.Worker, 1, 9, early...), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 13, 15))
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 16, 17))
		for _, want := range []string{"leaf worker 10-12, leaf worker 13-15", "leaf worker 10-12", ""} {
			check.Equal(t, "stack", storetest.Shape(undo(t, c).Stack), want)
		}
		check.Equal(t, "the earlier session's fold was undone", storetest.Number(t, c.Store(), "SELECT count(*) FROM compactions WHERE state = 'undone' AND kind = ?", transcript.Rollup), 0)
	})
}
