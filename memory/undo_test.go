package memory

import (
	"reflect"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/transcript"
)

// undo undoes the latest compaction, and fails if that is refused.
func undo(t tester, c *Conversation) transcript.Head {
	t.Helper()
	l := latest(t, c)
	head := commit(t, c, l.Undo)
	checkCoverage(t, c)
	return head
}

// latest returns the latest compaction; Why says why it cannot be undone.
func latest(t tester, c *Conversation) transcript.Undoable {
	t.Helper()
	l, err := c.Compactions().Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if l.Why == "" {
		if _, err := l.Undo(stateOf(t, c)); err != nil {
			l.Why = err.Error()
		}
	}
	return l
}

func TestUndoOfACompaction(t *testing.T) {
	for _, test := range []struct {
		claim     string
		prepare   func(t *testing.T, c *Conversation) // what was there before
		applyRows func(t *testing.T, c *Conversation) []int64
	}{
		{"a leaf over verbatim messages", func(*testing.T, *Conversation) {}, func(t *testing.T, c *Conversation) []int64 {
			return []int64{storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)}
		}},
		{"several leaves that were applied together", func(*testing.T, *Conversation) {}, func(t *testing.T, c *Conversation) []int64 {
			return []int64{storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3), storeSummary(t, c, transcript.Leaf, transcript.Extractive, 4, 7)}
		}},
		{"one that replaced a placeholder", func(t *testing.T, c *Conversation) { hide(t, c, 1, 5) }, func(t *testing.T, c *Conversation) []int64 {
			return []int64{storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)}
		}},
		{"one that split a placeholder", func(t *testing.T, c *Conversation) { hide(t, c, 1, 8) }, func(t *testing.T, c *Conversation) []int64 {
			return []int64{storeSummary(t, c, transcript.Leaf, transcript.Worker, 3, 5)}
		}},
		{"one that trimmed an extractive summary and hid messages too", func(t *testing.T, c *Conversation) {
			applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 5))
		}, func(t *testing.T, c *Conversation) []int64 {
			return []int64{storeSummary(t, c, transcript.Leaf, transcript.Worker, 3, 8)}
		}},
		{"a leaf together with the fold that made room for it", func(t *testing.T, c *Conversation) {
			applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
		}, func(t *testing.T, c *Conversation) []int64 {
			b := storeSummary(t, c, transcript.Leaf, transcript.Worker, 4, 6)
			return []int64{b, storeSummary(t, c, transcript.Rollup, transcript.Worker, 1, 6, load(t, c).Head.Stack[0].ID, b)}
		}},
		{"a rollup that was made anew from its children", func(t *testing.T, c *Conversation) {
			a, b := storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3), storeSummary(t, c, transcript.Leaf, transcript.Worker, 4, 6)
			applyRows(t, c, a, b)
			applyRows(t, c, storeSummary(t, c, transcript.Rollup, transcript.Extractive, 1, 6, a, b))
		}, func(t *testing.T, c *Conversation) []int64 {
			old := load(t, c).Head.Stack[0]
			j := check.Must(MemoriesOf(c).Records().Begin(ctx, transcript.Summary{Kind: transcript.Rollup, By: transcript.Worker, Trigger: transcript.OnRepair, Span: transcript.Span{From: 1, To: 6}, FromTime: day, ToTime: day, Children: old.Children}))(t)
			check.Must(j.Store(ctx, summarize.Summary{Text: "made anew", Tokens: 3}))(t)
			return []int64{j.ID()}
		}},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := imported(t, 10)
			test.prepare(t, c)
			before := load(t, c)
			rows := test.applyRows(t, c)
			head, applied := applyAndClear(t, c, 4, rows...)
			if reflect.DeepEqual(head.Stack, before.Head.Stack) {
				t.Fatalf("nothing applied: %+v", applied)
			}
			version := undo(t, c).Version
			after := load(t, c)
			if version <= head.Version || !reflect.DeepEqual(after.Head.Stack, before.Head.Stack) ||
				after.Head.ClearedTo != before.Head.ClearedTo || !reflect.DeepEqual(after.Messages, before.Messages) {
				t.Errorf("before\n%+v\nafter\n%+v", before, after)
			}
			for _, id := range rows {
				if n := number(t, c.store, "SELECT count(*) FROM compactions WHERE id = ? AND state = 'undone'", id); n != 1 {
					t.Errorf("row %d is not undone", id)
				}
			}
		})
	}
}

func TestUndoGoesBackOneCompactionAtATime(t *testing.T) {
	c := imported(t, 10)
	var shapes []string
	for i := range int64(3) {
		shapes = append(shapes, shape(load(t, c).Head.Stack))
		applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 3*i+1, 3*i+3))
	}
	for i := 2; i >= 0; i-- {
		check.Equal(t, "the stack", shape(undo(t, c).Stack), shapes[i])
	}
	check.Equal(t, "then", latest(t, c).Why, transcript.ErrNothingApplied.Error())
}

func TestUndoIsRefusedInWords(t *testing.T) {
	land15 := func(t *testing.T, c *Conversation) { applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)) }
	for _, test := range []struct {
		claim string
		since func(t *testing.T, c *Conversation)
		want  string
	}{
		{"where nothing was applied", func(*testing.T, *Conversation) {}, transcript.ErrNothingApplied.Error()},
		{"an emergency applies nothing that can be undone", func(t *testing.T, c *Conversation) { hide(t, c, 1, 5) }, transcript.ErrNothingApplied.Error()},
		{"after an edit", func(t *testing.T, c *Conversation) { land15(t, c); edit(t, c, 2, "other words") }, transcript.ErrChangedSince.Error()},
		{"after a deletion", func(t *testing.T, c *Conversation) { land15(t, c); remove(t, c, 2) }, transcript.ErrChangedSince.Error()},
		{"after an edit of what a placeholder of it hides", func(t *testing.T, c *Conversation) {
			hide(t, c, 1, 8)
			applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
			edit(t, c, 7, "other words")
		}, transcript.ErrChangedSince.Error()},
		{"after an emergency that merged a placeholder of it", func(t *testing.T, c *Conversation) {
			hide(t, c, 1, 5)
			applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
			hide(t, c, 4, 8)
		}, transcript.ErrChangedSince.Error()},
		{"where what follows was hidden since", func(t *testing.T, c *Conversation) { land15(t, c); hide(t, c, 6, 8) }, transcript.ErrHiddenSince.Error()},
		{"where a new conversation has begun since", func(t *testing.T, c *Conversation) {
			land15(t, c)
			run(t, c.store, "UPDATE conversations SET session_start = 6")
		}, beforeTheStart},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := imported(t, 10)
			test.since(t, c)
			before := dump(t, c.store)
			check.Equal(t, "refused with", latest(t, c).Why, test.want)
			check.Equal(t, "something has changed", dump(t, c.store), before)
		})
	}
	t.Run("an edit beside it, or before it, does no harm", func(t *testing.T) {
		c := imported(t, 10)
		edit(t, c, 2, "other words")
		land15(t, c)
		edit(t, c, 6, "other words")
		if head := undo(t, c); len(head.Stack) != 0 {
			t.Errorf("the stack is %s", shape(head.Stack))
		}
	})
	t.Run("if something was applied meanwhile, nothing is undone", func(t *testing.T) {
		c := imported(t, 10)
		land15(t, c)
		s, l := stateOf(t, c), latest(t, c)
		change := check.Must(l.Undo(s))(t)
		applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 6, 8))
		check.Error(t, check.ErrorOf(c.Compactions().Commit(ctx, s, change)), transcript.ErrStale)
		check.Equal(t, "stack", shape(load(t, c).Head.Stack), "leaf worker 1-5, leaf worker 6-8")
	})
}

func TestWhatReadAnUndoneCompactionIsNotApplied(t *testing.T) {
	c := imported(t, 10)
	applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 5))
	repair := storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)
	undo(t, c)
	if _, applied := applyRows(t, c, repair); applied[0].State != transcript.Stale {
		t.Errorf("what was to repair it is %s", applied[0].State)
	}
	if _, applied := applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5)); applied[0].State != transcript.Applied {
		t.Errorf("what was begun later is %s", applied[0].State)
	}
}

// A repair may be planned just before an undo and start just after it: then the rollup it was to
// repair is gone, and it covers nothing.
func TestARollupIsMadeAgainInItsPlaceAlone(t *testing.T) {
	c := imported(t, 10)
	a, b := storeSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 3), storeSummary(t, c, transcript.Leaf, transcript.Extractive, 4, 6)
	applyRows(t, c, a, b)
	applyRows(t, c, storeSummary(t, c, transcript.Rollup, transcript.Extractive, 1, 6, a, b))
	before := shape(undo(t, c).Stack)
	j := check.Must(MemoriesOf(c).Records().Begin(ctx, transcript.Summary{Kind: transcript.Rollup, By: transcript.Worker, Trigger: transcript.OnRepair, Span: transcript.Span{From: 1, To: 6}, FromTime: day, ToTime: day, Messages: 6, Children: []int64{a, b}}))(t)
	check.Must(j.Store(ctx, summarize.Summary{Text: "of nothing", Tokens: 7}))(t)
	head, applied := applyRows(t, c, j.ID())
	if applied[0].State != transcript.Stale || shape(head.Stack) != before {
		t.Errorf("it is %s, and holds %d messages; the stack is %s, was %s", applied[0].State, applied[0].Messages, shape(head.Stack), before)
	}
}

func TestMemoriesSurviveAnUndo(t *testing.T) {
	c := imported(t, 10)
	save := func() int64 {
		j := begin(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		if answer, err := call(j.Tools(5), "memory_save", `{"content":"Ann counts messages.","kind":"fact","messages":[2]}`); err != nil {
			t.Fatal(answer, err)
		}
		check.Must(j.Store(ctx, summarize.Summary{Text: "They counted.", Tokens: 3}))(t)
		return j.ID()
	}
	applyRows(t, c, save())
	undo(t, c)
	found, err := MemoriesOf(c).Search(ctx, "counts", 10)
	if err != nil || len(found) != 1 || found[0].State != "active" || found[0].Confirmed != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	applyRows(t, c, save()) // the same messages again
	if found, err := MemoriesOf(c).Search(ctx, "counts", 10); err != nil || len(found) != 1 || found[0].Confirmed != 1 {
		t.Errorf("saved twice: %+v, %v", found, err)
	}
}

func TestWhatIsSparedAfterAnUndo(t *testing.T) {
	spared := func(t *testing.T, c *Conversation, from, to int64) {
		t.Helper()
		if head := load(t, c).Head; head.SparedFrom != from || head.SparedTo != to {
			t.Errorf("spared is %d to %d, want %d to %d", head.SparedFrom, head.SparedTo, from, to)
		}
	}
	by := func(t *testing.T, c *Conversation, trigger transcript.Trigger, from, to int64) {
		t.Helper()
		j := check.Must(MemoriesOf(c).Records().Begin(ctx, transcript.Summary{Kind: transcript.Leaf, By: transcript.Worker, Trigger: trigger, Span: transcript.Span{From: from, To: to}, FromTime: day, ToTime: day}))(t)
		check.Must(j.Store(ctx, summarize.Summary{Text: "x", Tokens: 1}))(t)
		applyRows(t, c, j.ID())
	}
	c := imported(t, 20)
	spared(t, c, 0, 0)
	applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
	applyRows(t, c, storeSummary(t, c, transcript.Leaf, transcript.Worker, 4, 9))
	undo(t, c)
	spared(t, c, 4, 9)
	undo(t, c)
	spared(t, c, 1, 9)
	by(t, c, transcript.OnAggressive, 1, 3)
	spared(t, c, 0, 0)
	undo(t, c)
	spared(t, c, 1, 3)
	hide(t, c, 1, 3)
	spared(t, c, 0, 0)
	by(t, c, transcript.OnRepair, 1, 3)
	undo(t, c) // the placeholder is back: it is also left alone
	spared(t, c, 1, 3)
	by(t, c, transcript.OnManual, 4, 6)
	spared(t, c, 0, 0)
	a := load(t, c).Head.Stack
	applyRows(t, c, storeSummary(t, c, transcript.Rollup, transcript.Worker, 1, 6, ids(a)...))
	undo(t, c) // what undoing a rollup brings back may be repaired and rolled up again
	spared(t, c, 0, 0)
}
