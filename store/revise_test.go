package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/transcript"
)

// tellRows returns a conversation of these messages.
func tellRows(t *testing.T) *store.Conversation {
	t.Helper()
	c := storetest.NewConversation(t)
	check.Must(c.Past().Import(ctx, bicycles()))(t)
	return c
}

// bicycles are nine messages, the fifth of which holds a secret.
func bicycles() (all []store.Inbound) {
	for n := range 9 {
		all = append(all, storetest.Said(n+1, "I bought red bicycles in Turin."))
	}
	all[4].Text = "I bought a " + storetest.Secret + " in Rome."
	return all
}

// summarizeSpan starts a row and stores a summary with the given text.
func summarizeSpan(t *testing.T, c *store.Conversation, kind transcript.Kind, by transcript.By, from, to int64, text string, children ...int64) int64 {
	t.Helper()
	j := storetest.Begin(t, c, kind, by, from, to, children...)
	check.Must(j.Store(ctx, summarize.Summary{Text: text, Tokens: 30}))(t)
	return j.ID()
}

const long = " Much more was said about bicycles, about Turin and about the weather there, which was fine on most of the days, and about lunch."

func rowsOf(t *testing.T, c *store.Conversation, state transcript.Status) (found []transcript.Summary) {
	t.Helper()
	check.NoError(t, c.Store().View(ctx, func(tx *store.Tx) error {
		found = c.In(tx).Compactions("AND state = ? ORDER BY to_seq, id", state)
		return nil
	}))
	return found
}

func TestRunningRowsOverChangedMessage(t *testing.T) {
	changes := map[string]func(c *store.Conversation){
		"edited":  func(c *store.Conversation) { storetest.Edit(t, c, 5, "I bought nothing.") },
		"deleted": func(c *store.Conversation) { storetest.Remove(t, c, 5) },
	}
	for name, change := range changes {
		t.Run("what is prepared is stale once it was "+name, func(t *testing.T) {
			c := tellRows(t)
			over := summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 6, "The "+storetest.Secret+"."+long)
			beside := summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 7, 9, "Bicycles.")
			change(c)
			check.EqualAll(t, "prepared", transcript.IDs(storetest.Load(t, c).Prepared), []int64{beside})
			storetest.WantNoSecret(t, c)
			_, applied := storetest.ApplyRows(t, c, over, beside)
			check.Equal(t, "applied", applied[0].State, transcript.Stale)
			check.Equal(t, "state of the second row", applied[1].State, transcript.Prepared)
			if head, applied := storetest.ApplyRows(t, c, beside, summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 6, "More.")); storetest.Shape(head.Stack) != "leaf worker 1-6, leaf worker 7-9" {
				t.Errorf("applied %+v", applied)
			}
		})
		t.Run("what is running when it was "+name+" stores nothing", func(t *testing.T) {
			c := tellRows(t)
			j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 6)
			check.Must(storetest.Call(j.Tools(9), "memory_save", `{"content": "Ann bought a `+storetest.Secret+`.", "kind": "fact", "messages": [5]}`))(t)
			change(c)
			saved, err := j.Store(ctx, summarize.Summary{Text: "The " + storetest.Secret + "." + long, Tokens: 30, Sources: []int64{5}})
			check.That(t, err == nil && saved == nil, "%+v, %v", saved, err)
			storetest.WantNoSecret(t, c)
			_, applied := storetest.ApplyRows(t, c, j.ID())
			check.Equal(t, "state of the first row", applied[0].State, transcript.Stale)
			// Nothing was saved, so the next worker may save.
			storetest.Repair(t, c, transcript.Worker, 1, 6, "Ann bought bicycles.", 1)
			check.EqualAll(t, "memories", storetest.Contents(t, c), []string{"fact: Ann bought bicycles."})
		})
	}
}

func TestSummariesOverDeletedMessage(t *testing.T) {
	for _, by := range []transcript.By{transcript.Worker, transcript.Extractive} {
		t.Run(fmt.Sprintf("one by %s becomes a placeholder, to be repaired", by), func(t *testing.T) {
			c := tellRows(t)
			j := storetest.Begin(t, c, transcript.Leaf, by, 1, 6)
			check.Must(j.Store(ctx, summarize.Summary{Text: "Ann: I bought a " + storetest.Secret + " in Rome." + long, Sources: []int64{2, 5}}))(t)
			storetest.ApplyRows(t, c, j.ID(), summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 7, 9, "Bicycles."))
			before := storetest.Load(t, c).Head
			storetest.Remove(t, c, 5)
			head := storetest.Load(t, c).Head
			if storetest.Shape(head.Stack) != "placeholder emergency 1-6, leaf worker 7-9" || head.Version != before.Version+1 {
				t.Fatalf("got stack %s, version %d after %d", storetest.Shape(head.Stack), head.Version, before.Version)
			}
			row := head.Stack[0]
			if row.AwaitsModel != (by == transcript.Worker) || row.Messages != 5 || row.Tokens != row.Cost() || row.Text != "" || row.Model != "" || row.Sources != nil {
				t.Errorf("got row %+v", row)
			}
			check.That(t, reflect.DeepEqual(head.Stack[1], before.Stack[1]), "the neighboring row changed too")
			storetest.WantNoSecret(t, c)
			checkCoverage(t, c)
			storetest.Repair(t, c, transcript.Worker, 1, 6, "Ann bought bicycles.", 1)
			check.Equal(t, "repaired", storetest.Shape(storetest.Load(t, c).Head.Stack), "leaf worker 1-6, leaf worker 7-9")
		})
	}
	t.Run("a rollup keeps its children, and those over the message lose their text", func(t *testing.T) {
		c := tellRows(t)
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 3, "Ann collects old maps."), summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 4, 5, "Bob bought a "+storetest.Secret+"."), summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 6, 7, "They went home."))
		stack := storetest.Load(t, c).Head.Stack
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Rollup, transcript.Worker, 1, 5, "Maps, and a "+storetest.Secret+".", transcript.IDs(stack[:2])...))
		stack = storetest.Load(t, c).Head.Stack
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Rollup, transcript.Worker, 1, 7, "Maps, a "+storetest.Secret+", home."+long, transcript.IDs(stack)...))
		storetest.Remove(t, c, 5)
		storetest.WantNoSecret(t, c)
		checkCoverage(t, c)
		row := storetest.Load(t, c).Head.Stack[0]
		if storetest.Shape([]transcript.Summary{row}) != "placeholder emergency 1-7" || row.Messages != 6 || !row.IsRollup() {
			t.Errorf("got row %+v", row)
		}
		for _, rolledUp := range rowsOf(t, c, transcript.RolledUp) {
			if over := rolledUp.Covers(5); over != (rolledUp.Kind == transcript.Placeholder) || over != (rolledUp.Text == "") {
				t.Errorf("child over %d to %d by %s: got text %q", rolledUp.From, rolledUp.To, rolledUp.By, rolledUp.Text)
			}
			if rolledUp.Tokens != rolledUp.Cost() && rolledUp.Covers(5) {
				t.Errorf("child over %d to %d: got %d tokens", rolledUp.From, rolledUp.To, rolledUp.Tokens)
			}
		}
		job := storetest.Begin(t, c, transcript.Rollup, transcript.Worker, 1, 7)
		children, err := job.Children(ctx, row.ID)
		check.NoError(t, err)
		check.Equal(t, "the row is repaired", storetest.Shape(children), "placeholder emergency 1-5, leaf worker 6-7")
	})
}

func TestRowsWithoutDeletedMessage(t *testing.T) {
	t.Run("a row in any state loses its text", func(t *testing.T) {
		c := tellRows(t)
		for _, state := range []string{"replaced", "undone", "failed", "stale"} {
			id := summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 6, "The "+storetest.Secret+" "+state)
			storetest.Run(t, c.Store(), "UPDATE compactions SET state = ? WHERE id = ?", state, id)
		}
		storetest.Remove(t, c, 5)
		storetest.WantNoSecret(t, c)
	})
	t.Run("a deleted quote is no longer in a summary", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := storetest.Said(1, "I disagree")
		m.ReplyTo, m.Quote = "m0", "Bob: the "+storetest.Secret
		storetest.Deliver(t, c, m, storetest.Said(2, "b"))
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 2, "Ann disagrees about the "+storetest.Secret))
		check.Must(privacy.Of(c).Delete(ctx, []string{"m0"}))(t)
		storetest.WantNoSecret(t, c)
		check.Equal(t, "stack", storetest.Shape(storetest.Load(t, c).Head.Stack), "placeholder emergency 1-2")
	})
}

func TestSummariesOverEditedMessage(t *testing.T) {
	t.Run("a worker's summary keeps its text, and is to be repaired", func(t *testing.T) {
		c := tellRows(t)
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 6, "Ann bought something in Rome."+long))
		was := storetest.Load(t, c).Head.Stack[0]
		storetest.Edit(t, c, 5, "I bought something in Milan.")
		row, want := storetest.Load(t, c).Head.Stack[0], was
		want.AwaitsModel = true
		check.That(t, reflect.DeepEqual(row, want), "got row %+v, want %+v", row, was)
	})
	t.Run("below a rollup every row over the message is marked, and no other", func(t *testing.T) {
		c := tellRows(t)
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 3, "maps"), summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 4, 6, "Rome"))
		storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Rollup, transcript.Worker, 1, 6, "maps, Rome", transcript.IDs(storetest.Load(t, c).Head.Stack)...))
		storetest.Edit(t, c, 5, "I bought something in Milan.")
		awaitsModel := func(rows []transcript.Summary) (which []bool) {
			for _, row := range rows {
				which = append(which, row.AwaitsModel)
			}
			return which
		}
		if rows := storetest.Load(t, c).Head.Stack; storetest.Shape(rows) != "rollup worker 1-6" || !rows[0].AwaitsModel {
			t.Errorf("stack %+v", rows)
		}
		rows := rowsOf(t, c, transcript.RolledUp)
		check.Equal(t, "folded", storetest.Shape(rows), "leaf worker 1-3, leaf worker 4-6")
		check.EqualAll(t, "rows that await a model", awaitsModel(rows), []bool{false, true})
		checkCoverage(t, c)
	})
}

func TestJobLifecycle(t *testing.T) {
	t.Run("at start a running row fails, and a prepared one stays", func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		c := storetest.Find(t, s, "terminal:general")
		storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(3, "c"))
		prepared := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 1)
		running := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 2, 2).ID()

		shared := check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t)
		defer shared.Close()
		before := storetest.Dump(t, s)
		check.EqualAll(t, "prepared, read by a second connection", transcript.IDs(storetest.Load(t, storetest.Find(t, shared, c.Name())).Prepared), []int64{prepared})
		check.Equal(t, "a second reader changed the database", storetest.Dump(t, s), before)

		s.Close()
		c = storetest.Find(t, storetest.OpenStore(t, dir), "terminal:general")
		state := storetest.Load(t, c)
		check.EqualAll(t, "loaded", transcript.IDs(state.Prepared), []int64{prepared})
		check.Len(t, "messages", state.Messages, 3)
		if _, rows := storetest.ApplyRows(t, c, running); rows[0].State != transcript.Failed || !strings.Contains(rows[0].Error, "stopped") {
			t.Errorf("got running row %+v", rows[0])
		}
	})
	t.Run("a job planned before a purge does not begin", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		check.NoError(t, privacy.Of(c).Purge(ctx))
		err := check.ErrorOf(memory.Of(c).Records().Begin(ctx, transcript.Summary{Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnBackground, Span: transcript.Span{From: 1, To: 4}}))
		check.Error(t, err, store.ErrNotFound)
		check.Len(t, "findings", check.Must(c.Store().Upkeep().Check(ctx))(t), 0)
	})
	t.Run("a row is read back as stored", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		row := transcript.Summary{
			Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnManual, Level: 2, Span: transcript.Span{From: 1, To: 4}, FromTime: storetest.Day, ToTime: storetest.Day.AddDate(0, 0, 1),
			Messages: 4, Model: "m", Focus: "names", PolicyHash: "abc",
		}
		j := check.Must(memory.Of(c).Records().Begin(ctx, row))(t)
		check.Must(j.Store(ctx, summarize.Summary{Text: "text", Tokens: 3}))(t)
		check.NoError(t, c.Compactions().Measured(ctx, j.ID(), 100, 60))
		row.ID, row.State, row.Text, row.Tokens = j.ID(), transcript.Applied, "text", 3
		if head, _ := storetest.ApplyRows(t, c, j.ID()); !reflect.DeepEqual(head.Stack, []transcript.Summary{row}) {
			t.Errorf("got %+v, want %+v", head.Stack, row)
		}
		check.Equal(t, "measured", storetest.Number(t, c.Store(), "SELECT before_tokens - after_tokens FROM compactions"), 40)
		check.Error(t, storetest.Find(t, c.Store(), "terminal:other").Compactions().Measured(ctx, j.ID(), 1, 1), store.ErrNotFound)
	})
}
