package store_test

import (
	"reflect"
	"testing"

	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// What transcript decides about other cases is in its own tests; that the rows then say the same, storetest.Commit checks.
func TestApplyingRows(t *testing.T) {
	for _, test := range []struct {
		claim, steps, stack string
		state               transcript.Status // of the first row, when it is applied
	}{
		{"a stale leaf takes no placeholder with it", "leaf 1-9; hide 1-3; sum 4-9", "placeholder emergency 1-3, leaf worker 4-9", transcript.Stale},
		{"a leaf is stale when one of its messages was edited", "leaf 1-5; edit 5", "", transcript.Stale},
		{"a leaf is stale when one of its messages was deleted", "leaf 1-5; delete 1", "", transcript.Stale},
		{"an edit before it was read, or beside its span, does no harm", "edit 3; leaf 1-5; edit 6", "leaf worker 1-5", transcript.Applied},
		{"a row that is not prepared is not applied", "begin 1-5", "", transcript.Running},
		{"deleted messages need no placeholder", "sum 1-6 extractive; sum 7-10; delete 1; delete 6; sum 2-5", "leaf worker 2-5, leaf worker 7-10", transcript.Replaced},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := imported(t, 12)
			ids := play(t, c, test.steps)
			before := peek(t, c).Head
			head, applied := storetest.ApplyRows(t, c, ids[0])
			check.Equal(t, "stack", storetest.Shape(head.Stack), test.stack)
			check.Equal(t, "the row", applied[0].State, test.state)
			check.Equal(t, "version raised", head.Version-before.Version == 1, test.state == transcript.Applied)
			checkCoverage(t, c)
			again, _ := storetest.ApplyRows(t, c, ids[0])
			check.That(t, reflect.DeepEqual(head, again), "applied again: got %+v, then %+v", head, again)
		})
	}
}

// A repair may also be planned just before an undo and start just after it: then the rollup it was to
// repair is gone, and it covers nothing.
func TestRepairOfRollup(t *testing.T) {
	c := imported(t, 10)
	ids := play(t, c, "leaf 1-3 extractive; leaf 4-6 extractive; apply")
	before := load(t, c)
	old := play(t, c, "roll 1-6 extractive; apply")[0]
	j := repairRow(t, c, transcript.Rollup, transcript.Span{From: 1, To: 6}, ids[:2]...)
	children := func(id int64, want ...int64) {
		t.Helper()
		check.EqualAll(t, "children", transcript.IDs(check.Must(j.Children(ctx, id))(t)), want)
	}
	children(old, ids[:2]...)
	storetest.ApplyAndClear(t, c, 4, j.ID())
	check.Equal(t, "stack", stack(t, c), "rollup worker 1-6")
	children(j.ID(), ids[:2]...)
	children(old)
	undo(t, c) // the rollup, and its repair
	wantState(t, c, before)
	check.Equal(t, "rows undone", number(t, c.Store(), "SELECT count(*) FROM compactions WHERE id IN (?, ?) AND state = 'undone'", old, j.ID()), 2)
	shown := stack(t, c)
	check.Equal(t, "late", apply(t, c, repairRow(t, c, transcript.Rollup, transcript.Span{From: 1, To: 6}, ids[:2]...).ID()), "stale")
	check.Equal(t, "stack", stack(t, c), shown)
}

// The newest summary of a session counts, by its place in the conversation and not by the clock; folds and repairs do not.
func TestAddressedSinceSummary(t *testing.T) {
	for steps, want := range map[string]bool{
		"ask 11; sum 1-5": false, "ask 11; sum 1-5; ask 12": true, "sum 1-5 extractive; ask 11; repair 1-5; apply": true,
		"leaf 1-3; leaf 4-5; apply; ask 11; roll 1-5; apply": true, "leaf 1-3; new; ask 11; apply": true, // late, in an earlier session
	} {
		c := imported(t, 10)
		play(t, c, steps)
		for name, jump := range jumps {
			storetest.Run(t, c.Store(), "UPDATE compactions SET applied_at = applied_at - ?", jump.Milliseconds())
			check.Equal(t, steps+", the clock "+name+": addressed since", load(t, c).Addressed, want)
		}
	}
}

// wantState compares what the prompt shows with an earlier state.
func wantState(t *testing.T, c *store.Conversation, before transcript.Snapshot) {
	t.Helper()
	after := load(t, c)
	same := reflect.DeepEqual(after.Head.Stack, before.Head.Stack) && reflect.DeepEqual(after.Messages, before.Messages)
	check.That(t, same && after.Head.ClearedTo == before.Head.ClearedTo, "before\n%+v\nafter\n%+v", before, after)
}

// A decision on a state that is no longer stored changes nothing.
func TestCommitOfStaleState(t *testing.T) {
	for claim, test := range map[string]struct{ meanwhile, sql string }{
		"the head has changed":                 {"hide 6-7", ""},
		"somebody pinned a message":            {"pin 6", ""},
		"a message to be hidden was deleted":   {"delete 2", "UPDATE conversations SET version = 0; UPDATE compactions SET state = 'prepared'"},
		"the row is stale":                     {"", "UPDATE compactions SET state = 'stale'"},
		"a message arrived before the session": {"say 10", ""},
	} {
		t.Run(claim, func(t *testing.T) {
			c := imported(t, 9)
			ids := play(t, c, "leaf 1-4")
			s := storetest.StateOf(t, c)
			change, _, _ := s.Cover(ids, 0, nil)
			if test.meanwhile == "say 10" {
				change = check.Must(s.NewSession(true))(t)
			}
			play(t, c, test.meanwhile)
			storetest.Run(t, c.Store(), test.sql)
			before := dump(t, c.Store())
			check.Error(t, check.ErrorOf(c.Compactions().Commit(ctx, s, change)), transcript.ErrStale)
			check.Equal(t, "the store", dump(t, c.Store()), before)
		})
	}
}

// That an undo restores what was there before is in TestCoverage.
func TestUndoErrors(t *testing.T) {
	changed := transcript.ErrChangedSince.Error()
	nothing := transcript.ErrNothingApplied.Error()
	for claim, test := range map[string]struct{ steps, want string }{
		"where nothing was applied":                         {"", nothing},
		"an emergency applies nothing that can be undone":   {"hide 1-5", nothing},
		"after an edit":                                     {"sum 1-5; edit 2", changed},
		"after a deletion":                                  {"sum 1-5; delete 2", changed},
		"after an edit of what a placeholder of it hides":   {"hide 1-8; sum 1-3; edit 7", changed},
		"where a new conversation has started since":        {"sum 1-5; new", store.BeforeTheStart},
		"but an edit beside it, or before it, does no harm": {"edit 2; sum 1-5; edit 6", ""},
	} {
		t.Run(claim, func(t *testing.T) {
			c := imported(t, 10)
			play(t, c, test.steps)
			before := dump(t, c.Store())
			check.Equal(t, "refused with", latest(t, c).Why, test.want)
			check.Equal(t, "state", dump(t, c.Store()), before)
		})
	}
}

// A job running during an undo of the summary over its messages would hide them again. A text that repeated something deleted
// elsewhere is gone: its row comes back as a placeholder. What was cleared since stays cleared.
func TestUndo(t *testing.T) {
	c := imported(t, 12)
	ids := play(t, c, "sum 1-5 extractive; sum 1-5")
	over := begin(t, c, 1, 5)
	failing := begin(t, c, 3, 5)
	beside := begin(t, c, 6, 8)
	storetest.Run(t, c.Store(), "UPDATE compactions SET text = '', sources = '' WHERE id = ?", ids[0])
	head := undo(t, c)
	check.Equal(t, "stack", storetest.Shape(head.Stack), "placeholder emergency 1-5")
	check.Equal(t, "tokens of the first row", head.Stack[0].Tokens, head.Stack[0].Cost())
	check.Must(over.Store(ctx, summarize.Summary{Text: "late", Tokens: 7}))(t)
	check.NoError(t, check.ErrorOf(failing.Fail(ctx, "too slow")))
	check.Must(beside.Store(ctx, summarize.Summary{Text: "beside", Tokens: 7}))(t)
	check.Equal(t, "states", apply(t, c, over.ID(), failing.ID(), beside.ID()), "stale failed applied")
	check.Equal(t, "texts of stale rows", number(t, c.Store(), "SELECT count(*) FROM compactions WHERE state = 'stale' AND text <> ''"), 0)
	c = imported(t, 10)
	storetest.ApplyAndClear(t, c, 4, play(t, c, "leaf 1-3")...)
	storetest.ApplyAndClear(t, c, 8, play(t, c, "leaf 4-6")...)
	check.Equal(t, "cleared after the undo of the second one", undo(t, c).ClearedTo, 4)
	play(t, c, "say 11")
	storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) { return s.Clear(11), nil })
	check.Equal(t, "cleared after the undo of the first one", undo(t, c).ClearedTo, 11)
}
