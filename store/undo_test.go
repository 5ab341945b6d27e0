package store_test

import (
	"reflect"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// undo undoes the latest compaction, and fails if that is refused.
func undo(t check.Tester, c *store.Conversation) transcript.Head {
	t.Helper()
	l := latest(t, c)
	head := storetest.Commit(t, c, l.Undo)
	checkCoverage(t, c)
	return head
}

// latest returns the latest compaction; Why says why it cannot be undone.
func latest(t check.Tester, c *store.Conversation) transcript.Undoable {
	t.Helper()
	l, err := c.Compactions().Latest(ctx)
	check.NoError(t, err)
	if l.Why == "" {
		if _, err := l.Undo(storetest.StateOf(t, c)); err != nil {
			l.Why = err.Error()
		}
	}
	return l
}

// repairRow stores a summary that repairs a span, with a trigger.
func repairRow(t *testing.T, c *store.Conversation, kind transcript.Kind, trigger transcript.Trigger, from, to int64, text string, children ...int64) summarize.Job {
	t.Helper()
	j := check.Must(memory.Of(c).Records().Begin(ctx, transcript.Summary{
		Kind: kind, By: transcript.Worker, Trigger: trigger, Span: transcript.Span{From: from, To: to},
		FromTime: storetest.Day, ToTime: storetest.Day, Messages: int(to - from + 1), Children: children,
	}))(t)
	check.Must(j.Store(ctx, summarize.Summary{Text: text, Tokens: 7}))(t)
	return j
}

// That an undo restores what was there before is in TestCoverage, but for repairs of rollups.
func TestUndoOfRepairedRollup(t *testing.T) {
	c := storetest.Imported(t, 10)
	a, b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 4, 6)
	storetest.ApplyRows(t, c, a, b)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Rollup, transcript.Extractive, 1, 6, a, b))
	before := storetest.Load(t, c)
	made := repairRow(t, c, transcript.Rollup, transcript.OnRepair, 1, 6, "made anew", a, b).ID()
	head, _ := storetest.ApplyAndClear(t, c, 4, made)
	check.Equal(t, "stack", storetest.Shape(head.Stack), "rollup worker 1-6")
	undo(t, c)
	after := storetest.Load(t, c)
	if !reflect.DeepEqual(after.Head.Stack, before.Head.Stack) || after.Head.ClearedTo != before.Head.ClearedTo || !reflect.DeepEqual(after.Messages, before.Messages) {
		t.Errorf("before\n%+v\nafter\n%+v", before, after)
	}
	check.Equal(t, "rows undone", storetest.Number(t, c.Store(), "SELECT count(*) FROM compactions WHERE id = ? AND state = 'undone'", made), 1)
}

func TestUndoErrors(t *testing.T) {
	land15 := func(t *testing.T, c *store.Conversation) {
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5))
	}
	for _, test := range []struct {
		claim string
		since func(t *testing.T, c *store.Conversation)
		want  string
	}{
		{"where nothing was applied", func(*testing.T, *store.Conversation) {}, transcript.ErrNothingApplied.Error()},
		{"an emergency applies nothing that can be undone", func(t *testing.T, c *store.Conversation) { storetest.Hide(t, c, 1, 5) }, transcript.ErrNothingApplied.Error()},
		{"after an edit", func(t *testing.T, c *store.Conversation) { land15(t, c); storetest.Edit(t, c, 2, "other words") }, transcript.ErrChangedSince.Error()},
		{"after a deletion", func(t *testing.T, c *store.Conversation) { land15(t, c); storetest.Remove(t, c, 2) }, transcript.ErrChangedSince.Error()},
		{"after an edit of what a placeholder of it hides", func(t *testing.T, c *store.Conversation) {
			storetest.Hide(t, c, 1, 8)
			storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
			storetest.Edit(t, c, 7, "other words")
		}, transcript.ErrChangedSince.Error()},
		{"where a new conversation has begun since", func(t *testing.T, c *store.Conversation) {
			land15(t, c)
			storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 6")
		}, store.BeforeTheStart},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := storetest.Imported(t, 10)
			test.since(t, c)
			before := storetest.Dump(t, c.Store())
			check.Equal(t, "refused with", latest(t, c).Why, test.want)
			check.Equal(t, "state", storetest.Dump(t, c.Store()), before)
		})
	}
	t.Run("an edit beside it, or before it, does no harm", func(t *testing.T) {
		c := storetest.Imported(t, 10)
		storetest.Edit(t, c, 2, "other words")
		land15(t, c)
		storetest.Edit(t, c, 6, "other words")
		if head := undo(t, c); len(head.Stack) != 0 {
			t.Errorf("got stack %s", storetest.Shape(head.Stack))
		}
	})
}

// A repair may be planned just before an undo and start just after it: then the rollup it was to
// repair is gone, and it covers nothing.
func TestRollupIsRemadeInPlace(t *testing.T) {
	c := storetest.Imported(t, 10)
	a, b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 3), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 4, 6)
	storetest.ApplyRows(t, c, a, b)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Rollup, transcript.Extractive, 1, 6, a, b))
	before := storetest.Shape(undo(t, c).Stack)
	j := repairRow(t, c, transcript.Rollup, transcript.OnRepair, 1, 6, "of nothing", a, b)
	head, applied := storetest.ApplyRows(t, c, j.ID())
	if applied[0].State != transcript.Stale || storetest.Shape(head.Stack) != before {
		t.Errorf("got %s with %d messages; stack %s, before %s", applied[0].State, applied[0].Messages, storetest.Shape(head.Stack), before)
	}
}

func TestMemoriesSurviveUndo(t *testing.T) {
	c := storetest.Imported(t, 10)
	save := func() int64 {
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		if answer, err := storetest.Call(j.Tools(5), "memory_save", `{"content":"Ann counts messages.","kind":"fact","messages":[2]}`); err != nil {
			t.Fatal(answer, err)
		}
		check.Must(j.Store(ctx, summarize.Summary{Text: "They counted.", Tokens: 3}))(t)
		return j.ID()
	}
	storetest.ApplyRows(t, c, save())
	undo(t, c)
	found, err := storetest.Search(memory.Of(c), ctx, "counts", 10)
	if err != nil || len(found) != 1 || found[0].State != "active" || found[0].Confirmed != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	storetest.ApplyRows(t, c, save()) // the same messages again
	if found, err := storetest.Search(memory.Of(c), ctx, "counts", 10); err != nil || len(found) != 1 || found[0].Confirmed != 1 {
		t.Errorf("got two saves: %+v, %v", found, err)
	}
}

func TestUndoLeavesWhatWasClearedSince(t *testing.T) {
	c := storetest.Imported(t, 10)
	storetest.ApplyAndClear(t, c, 4, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
	storetest.ApplyAndClear(t, c, 8, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 4, 6))
	check.Equal(t, "cleared after the undo of the second one", undo(t, c).ClearedTo, 4)
	check.Must(c.Past().Import(ctx, []store.Inbound{storetest.Said(11, "and then?")}))(t)
	storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) { return s.Clear(11), nil })
	check.Equal(t, "cleared after the undo of the first one", undo(t, c).ClearedTo, 11)
}

// A job running during an undo of the summary over its messages would hide them again.
func TestUndoEndsRunningRows(t *testing.T) {
	c := storetest.Imported(t, 12)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 5))
	over, failing, beside := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5), storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 3, 5), storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 6, 8)
	undo(t, c)
	check.NoError(t, check.ErrorOf(over.Store(ctx, summarize.Summary{Text: "late", Tokens: 7})))
	check.NoError(t, failing.Fail(ctx, "too slow"))
	check.NoError(t, check.ErrorOf(beside.Store(ctx, summarize.Summary{Text: "beside", Tokens: 7})))
	_, rows := storetest.ApplyRows(t, c, over.ID(), failing.ID(), beside.ID())
	for i, want := range []transcript.Status{transcript.Stale, transcript.Failed, transcript.Prepared} {
		if rows[i].State != want || want == transcript.Stale && rows[i].Text != "" {
			t.Errorf("row %d: got %s, want %s: %+v", i, rows[i].State, want, rows[i])
		}
	}
}

// A text that repeated something deleted elsewhere is gone: its row comes back as a placeholder.
func TestUndoRestoresBlankRowAsPlaceholder(t *testing.T) {
	c := storetest.Imported(t, 12)
	old := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 5)
	storetest.ApplyRows(t, c, old)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5))
	storetest.Run(t, c.Store(), "UPDATE compactions SET text = '', sources = '' WHERE id = ?", old)
	head := undo(t, c)
	check.Equal(t, "stack", storetest.Shape(head.Stack), "placeholder emergency 1-5")
	check.Equal(t, "tokens of the first row", head.Stack[0].Tokens, head.Stack[0].Cost())
}
