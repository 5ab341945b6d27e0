package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

const secret = storetest.Secret

// tellRows returns a conversation of these messages.
func tellRows(t *testing.T) *store.Conversation {
	t.Helper()
	c := newTalk(t)
	deliver(t, c, bicycles()...)
	return c
}

// bicycles are nine messages, the fifth of which holds a secret.
func bicycles() (all []store.Inbound) {
	for n := range 9 {
		all = append(all, said(n+1, "I bought red bicycles in Turin."))
	}
	all[4].Text = "I bought a " + secret + " in Rome."
	return all
}

const long = " Much more was said about bicycles, about Turin and about the weather there, which was fine on most of the days, and about lunch."

func rolledUp(t *testing.T, c *store.Conversation) (found []transcript.Summary) {
	t.Helper()
	check.NoError(t, c.Store().View(ctx, func(tx *store.Tx) {
		found = c.Summaries(tx).Read("AND state = 'rolled_up' ORDER BY to_seq, id")
	}))
	return found
}

func TestRowsOverChangedMessage(t *testing.T) {
	for _, change := range []string{"edit 5: I bought nothing.", "delete 5"} {
		t.Run(change, func(t *testing.T) {
			c := tellRows(t)
			ids := play(t, c, "leaf 1-6: The "+secret+"."+long+"; leaf 7-9")
			j := begin(t, c, 1, 6)
			arguments := `{"content": "Bob bought a ` + secret + `.", "kind": "fact", "messages": [5]}`
			check.Must(storetest.Call(j.Tools(9), "memory_save", arguments))(t)
			play(t, c, change)
			check.EqualAll(t, "prepared", transcript.IDs(peek(t, c).Prepared), ids[1:])
			saved, err := j.Store(ctx, summarize.Summary{Text: "The " + secret + "." + long, Tokens: 30, Sources: []int64{5}})
			check.That(t, err == nil && saved == nil, "%+v, %v", saved, err)
			storetest.WantNoSecret(t, c)
			check.Equal(t, "states", apply(t, c, ids[0], ids[1], j.ID()), "stale prepared stale")
			// Nothing was saved, so the next worker may save.
			storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 6}, storetest.Fact{Text: "Bob bought bicycles.", Seq: 1})
			check.EqualAll(t, "memories", storetest.Contents(t, c), []string{"fact: Bob bought bicycles."})
			apply(t, c, ids[1])
			check.Equal(t, "stack", stack(t, c), "leaf worker 1-6, leaf worker 7-9")
		})
	}
}

func TestSummariesOverDeletedMessage(t *testing.T) {
	for _, by := range []transcript.By{transcript.Worker, transcript.Extractive} {
		t.Run(fmt.Sprintf("one by %s becomes a placeholder, to be repaired", by), func(t *testing.T) {
			c := tellRows(t)
			j := storetest.Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: by, Span: transcript.Span{From: 1, To: 6}})
			check.Must(j.Store(ctx, summarize.Summary{Text: "Ann: I bought a " + secret + " in Rome." + long, Sources: []int64{2, 5}}))(t)
			apply(t, c, j.ID())
			play(t, c, "sum 7-9")
			before := load(t, c).Head
			remove(t, c, 5)
			head := load(t, c).Head
			check.Equal(t, "stack", storetest.Shape(head.Stack), "placeholder emergency 1-6, leaf worker 7-9")
			check.Equal(t, "version", head.Version, before.Version+1)
			row := head.Stack[0]
			empty := row.Messages == 5 && row.Tokens == row.Cost() && row.Text+row.Model == "" && row.Sources == nil
			check.That(t, empty && row.AwaitsModel == (by == transcript.Worker), "got row %+v", row)
			check.That(t, reflect.DeepEqual(head.Stack[1], before.Stack[1]), "the neighboring row changed too")
			storetest.WantNoSecret(t, c)
			checkCoverage(t, c)
			storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 6}, storetest.Fact{Text: "Bob bought bicycles.", Seq: 1})
			check.Equal(t, "repaired", stack(t, c), "leaf worker 1-6, leaf worker 7-9")
		})
	}
	t.Run("a rollup keeps its children, and those over the message lose their text", func(t *testing.T) {
		c := tellRows(t)
		play(t, c, "leaf 1-3; leaf 4-5: Bob bought a "+secret+"; leaf 6-7; apply")
		play(t, c, "roll 1-5: Maps, and a "+secret+".; apply; roll 1-7: Maps, a "+secret+", home."+long+"; apply; delete 5")
		storetest.WantNoSecret(t, c)
		checkCoverage(t, c)
		row := load(t, c).Head.Stack[0]
		check.Equal(t, "stack", stack(t, c), "placeholder emergency 1-7")
		check.That(t, row.Messages == 6 && row.IsRollup(), "got row %+v", row)
		for _, child := range rolledUp(t, c) {
			over := child.Covers(5)
			emptied := over == (child.Kind == transcript.Placeholder) && over == (child.Text == "") && (!over || child.Tokens == child.Cost())
			check.That(t, emptied, "got child %+v", child)
		}
		children := check.Must(storetest.Begin(t, c, transcript.Summary{Kind: transcript.Rollup, By: transcript.Worker, Span: transcript.Span{From: 1, To: 7}}).Children(ctx, row.ID))(t)
		check.Equal(t, "the row is repaired", storetest.Shape(children), "placeholder emergency 1-5, leaf worker 6-7")
	})
	t.Run("a row in any state loses its text, also one over a deleted quote", func(t *testing.T) {
		c := tellRows(t)
		for _, state := range []string{"replaced", "undone", "failed", "stale"} {
			ids := play(t, c, "leaf 1-6: The "+secret+" "+state)
			storetest.Run(t, c.Store(), "UPDATE compactions SET state = ? WHERE id = ?", state, ids[0])
		}
		remove(t, c, 5)
		storetest.WantNoSecret(t, c)
		deliver(t, c, storetest.Quoting(10, "I disagree", "m0", "Bob: the "+secret), said(11, "b"))
		play(t, c, "sum 1-9; sum 10-11: Ann disagrees about the "+secret)
		check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m0"}))
		storetest.WantNoSecret(t, c)
		check.Equal(t, "stack", stack(t, c), "leaf worker 1-9, placeholder emergency 10-11")
	})
}

// A worker's summary keeps its text, and is to be repaired; below a rollup every row over the message is, and no other.
func TestSummariesOverEditedMessage(t *testing.T) {
	c := tellRows(t)
	play(t, c, "leaf 1-3; leaf 4-6; apply")
	want := load(t, c).Head.Stack
	play(t, c, "edit 5")
	want[1].AwaitsModel = true
	check.That(t, reflect.DeepEqual(load(t, c).Head.Stack, want), "got %+v, want %+v", load(t, c).Head.Stack, want)
	c = tellRows(t)
	play(t, c, "leaf 1-3; leaf 4-6; apply; roll 1-6; apply; edit 5")
	check.Equal(t, "stack", stack(t, c), "rollup worker 1-6")
	rows := append(load(t, c).Head.Stack, rolledUp(t, c)...)
	await := storetest.Map(rows, func(row transcript.Summary) bool { return row.AwaitsModel })
	check.EqualAll(t, "a rollup and its two leaves await a model", await, []bool{true, false, true})
	checkCoverage(t, c)
}

func TestJobLifecycle(t *testing.T) {
	c := imported(t, 3)
	ids := play(t, c, "leaf 1-1; begin 2-2")
	before := dump(t, c.Store())
	shared := load(t, find(t, openShared(t, storetest.DirOf(c.Store())), c.Name()))
	check.EqualAll(t, "prepared, read by a second process", transcript.IDs(shared.Prepared), ids[:1])
	check.Equal(t, "what a second reader wrote", dump(t, c.Store()), before)
	c = reopen(t, c) // then a running row fails, and a prepared one stays
	state := load(t, c)
	check.EqualAll(t, "loaded", transcript.IDs(state.Prepared), ids[:1])
	check.Len(t, "messages", state.Messages, 3)
	_, rows := storetest.ApplyRows(t, c, ids[1])
	check.That(t, rows[0].State == transcript.Failed && strings.Contains(rows[0].Error, "stopped"), "got running row %+v", rows[0])
	t.Run("a row is read back as stored, and a job planned before a purge does not begin", func(t *testing.T) {
		c := imported(t, 4)
		row := transcript.Summary{
			Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnManual, Level: 2, Span: transcript.Span{From: 1, To: 4},
			FromTime: storetest.Day, ToTime: storetest.Day.AddDate(0, 0, 1), Messages: 4, Model: "m", Focus: "names",
		}
		j := check.Must(memory.Of(c).Records().Begin(ctx, row))(t)
		check.Must(j.Store(ctx, summarize.Summary{Text: "text", Tokens: 3}))(t)
		check.NoError(t, c.Compactions().Measured(ctx, j.ID(), 100, 60))
		row.ID = j.ID()
		row.State = transcript.Applied
		row.Text = "text"
		row.Tokens = 3
		head, _ := storetest.ApplyRows(t, c, j.ID())
		check.That(t, reflect.DeepEqual(head.Stack, []transcript.Summary{row}), "got %+v, want %+v", head.Stack, row)
		check.Equal(t, "measured", number(t, c.Store(), "SELECT before_tokens - after_tokens FROM compactions"), 40)
		check.Error(t, find(t, c.Store(), "terminal:other").Compactions().Measured(ctx, j.ID(), 1, 1), store.ErrNotFound)
		check.NoError(t, privacy.Of(c).Purge(ctx))
		check.Error(t, check.ErrorOf(memory.Of(c).Records().Begin(ctx, row)), store.ErrNotFound)
		wantSound(t, c.Store())
	})
}
