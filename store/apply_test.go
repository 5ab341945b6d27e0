package store_test

import (
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
	"cairn/transcript"
)

func appliedSummary(by transcript.By, from, to int64) func(*testing.T, *store.Conversation) int64 {
	return func(t *testing.T, c *store.Conversation) int64 {
		id := storetest.StoreSummary(t, c, transcript.Leaf, by, from, to)
		storetest.ApplyRows(t, c, id)
		return id
	}
}

// What transcript decides about other cases is in its own tests; that the rows then say the same is in
// TestChangedStateEqualsStoredState.
var applyCases = []struct {
	claim string
	rows  func(t *testing.T, c *store.Conversation) []int64 // the rows to apply
	want  string
	state transcript.Status // of the last row
}{
	{"a stale leaf takes no placeholder with it", func(t *testing.T, c *store.Conversation) []int64 {
		id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 9)
		storetest.Hide(t, c, 1, 3)
		appliedSummary(transcript.Worker, 4, 9)(t, c)
		return []int64{id}
	}, "placeholder emergency 1-3, leaf worker 4-9", transcript.Stale},
	{"a leaf is stale when one of its messages was edited", func(t *testing.T, c *store.Conversation) []int64 {
		id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		storetest.Edit(t, c, 5, "other words")
		return []int64{id}
	}, "", transcript.Stale},
	{"a leaf is stale when one of its messages was deleted", func(t *testing.T, c *store.Conversation) []int64 {
		id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		storetest.Remove(t, c, 1)
		return []int64{id}
	}, "", transcript.Stale},
	{"an edit before it was read, or beside its span, does no harm", func(t *testing.T, c *store.Conversation) []int64 {
		storetest.Edit(t, c, 3, "other words")
		id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		storetest.Edit(t, c, 6, "other words")
		return []int64{id}
	}, "leaf worker 1-5", transcript.Applied},
	{"a row that is not prepared is not applied", func(t *testing.T, c *store.Conversation) []int64 {
		return []int64{storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5).ID()}
	}, "", transcript.Running},
}

func TestApplyingRows(t *testing.T) {
	for _, test := range applyCases {
		t.Run(test.claim, func(t *testing.T) {
			c := storetest.Imported(t, 12)
			rows := test.rows(t, c)
			before := storetest.Peek(t, c).Head
			head, applied := storetest.ApplyRows(t, c, rows...)
			check.Equal(t, "stack", storetest.Shape(head.Stack), test.want)
			check.Equal(t, "the row", applied[len(applied)-1].State, test.state)
			raised := head.Version - before.Version
			if changed := storetest.Shape(before.Stack) != test.want || test.state == transcript.Applied; changed != (raised == 1) {
				t.Errorf("changed: %v; got a version increase of %d", changed, raised)
			}
			checkCoverage(t, c)
		})
	}
}

func TestApplyAgain(t *testing.T) {
	c := storetest.Imported(t, 6)
	id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3)
	first, _ := storetest.ApplyRows(t, c, id)
	again, rows := storetest.ApplyRows(t, c, id)
	check.That(t, reflect.DeepEqual(first, again) && rows[0].State == transcript.Applied, "got %+v, then %+v", first, again)
	other := storetest.Find(t, c.Store(), "terminal:other")
	check.Error(t, check.ErrorOf(other.Compactions().Ended(ctx, []int64{id})), store.ErrNotFound)
}

func TestRepairedRollupKeepsPlaceAndChildren(t *testing.T) {
	c := storetest.Imported(t, 10)
	a, b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 6, 10)
	old := storetest.StoreSummary(t, c, transcript.Rollup, transcript.Extractive, 1, 10, a, b)
	storetest.ApplyRows(t, c, a, b, old)
	j := repairRow(t, c, transcript.Rollup, transcript.OnRepair, 1, 10, "better", a, b)
	children, err := j.Children(ctx, old)
	if err != nil || len(children) != 2 || children[0].ID != a || children[1].ID != b {
		t.Fatalf("children of the one to repair: %+v, %v", children, err)
	}
	head, rows := storetest.ApplyRows(t, c, j.ID())
	if storetest.Shape(head.Stack) != "rollup worker 1-10" || rows[0].State != transcript.Applied {
		t.Fatalf("got stack %s, row %s", storetest.Shape(head.Stack), rows[0].State)
	}
	if children, err = j.Children(ctx, j.ID()); err != nil || len(children) != 2 {
		t.Errorf("got children %+v, %v", children, err)
	}
	if children, err = j.Children(ctx, old); err != nil || len(children) != 0 {
		t.Errorf("the replaced row: got %+v, %v", children, err)
	}
}

// A deleted message leaves nothing behind, but the rows beside it stay neighbors.
func TestPlaceholderOverDeletedMessagesHasDates(t *testing.T) {
	c := storetest.Imported(t, 10)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 6))
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 7, 10))
	storetest.Remove(t, c, 1, 6)
	head, _ := storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 2, 5))
	if want := "placeholder emergency 1-1, leaf worker 2-5, placeholder emergency 6-6, leaf worker 7-10"; storetest.Shape(head.Stack) != want {
		t.Fatalf("got stack %s, want %s", storetest.Shape(head.Stack), want)
	}
	for _, i := range []int{0, 2} {
		if left := head.Stack[i]; left.Messages != 0 || !left.FromTime.Equal(storetest.Day) || !left.ToTime.Equal(storetest.Day) {
			t.Errorf("got placeholder %+v", left)
		}
	}
	checkCoverage(t, c)
}

// A decision on a state that is no longer stored changes nothing.
func TestCommitOfStaleState(t *testing.T) {
	for _, test := range []struct {
		claim     string
		meanwhile func(t *testing.T, c *store.Conversation, id int64)
	}{
		{"the head has changed", func(t *testing.T, c *store.Conversation, _ int64) { storetest.Hide(t, c, 6, 7) }},
		{"somebody pinned a message", func(t *testing.T, c *store.Conversation, _ int64) { check.Must(c.Transcript().Pin(ctx, 6, "Ada"))(t) }},
		{"a message that is to be hidden was deleted", func(t *testing.T, c *store.Conversation, _ int64) {
			storetest.Remove(t, c, 2)
			storetest.Run(t, c.Store(), "UPDATE conversations SET version = 0")
			storetest.Run(t, c.Store(), "UPDATE compactions SET state = 'prepared'")
		}},
		{"the row is stale", func(t *testing.T, c *store.Conversation, id int64) {
			storetest.Run(t, c.Store(), "UPDATE compactions SET state = 'stale' WHERE id = ?", id)
		}},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := storetest.Imported(t, 9)
			id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 4)
			s := storetest.StateOf(t, c)
			change, _, _ := s.Cover([]int64{id}, 0, nil)
			test.meanwhile(t, c, id)
			before := storetest.Dump(t, c.Store())
			check.Error(t, check.ErrorOf(c.Compactions().Commit(ctx, s, change)), transcript.ErrStale)
			check.Equal(t, "the store", storetest.Dump(t, c.Store()), before)
		})
	}
	t.Run("a message arrived before the session started", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		s := storetest.StateOf(t, c)
		change := check.Must(s.NewSession(true))(t)
		storetest.Deliver(t, c, storetest.Said(10, "one more"))
		before := storetest.Dump(t, c.Store())
		check.Error(t, check.ErrorOf(c.Compactions().Commit(ctx, s, change)), transcript.ErrStale)
		check.Equal(t, "the store", storetest.Dump(t, c.Store()), before)
	})
}
