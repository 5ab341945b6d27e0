package store_test

import (
	"reflect"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

var ann = transcript.Writer{Name: "Ann", ID: "0"}

const facts = "## Facts\n- the boat is red (#2)\n- it leaves at nine"

// withLines applies a summary of messages 1 to 4 whose second line has no evidence.
func withLines(t *testing.T, c *store.Conversation, by transcript.By) transcript.Summary {
	t.Helper()
	j := storetest.Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: by, Span: transcript.Span{From: 1, To: 4}})
	lines := []transcript.Line{{At: 1, Seqs: []int64{2}}, {At: 2}}
	lost := []transcript.DroppedLine{{Text: "the boat is blue", Why: "#2 has red"}, {Text: "it is old", Why: "Bob removed it", By: "Bob", ByID: "9"}}
	check.Must(j.Store(ctx, summarize.Summary{Text: facts, Tokens: 20, Lines: lines, Dropped: 3, DroppedLines: lost}))(t)
	storetest.ApplyRows(t, c, j.ID())
	return load(t, c).Head.Stack[0]
}

// rewrite rewrites a line of a shown summary, and returns the new row.
func rewrite(t *testing.T, c *store.Conversation, id int64, at int, text string) transcript.Summary {
	t.Helper()
	head := storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) { return s.Rewrite(id, at, text, ann) })
	for _, row := range head.Rows() {
		if row.Trigger == transcript.OnRewrite {
			return row
		}
	}
	t.Fatal("no row has a line that was rewritten")
	return transcript.Summary{}
}

func TestLinesAreStored(t *testing.T) {
	c := imported(t, 9)
	row := withLines(t, c, transcript.Worker)
	check.That(t, reflect.DeepEqual(row.Lines, []transcript.Line{{At: 1, Seqs: []int64{2}}, {At: 2}}) && row.Dropped == 3 && len(row.DroppedLines) == 2 && row.DroppedLines[0].ByID == "9", "%+v", row)
	t.Run("they go with the text when a message is edited or deleted", func(t *testing.T) {
		for _, change := range []string{"edit 2", "delete 2"} {
			c := imported(t, 9)
			withLines(t, c, transcript.Extractive)
			play(t, c, change)
			check.Equal(t, change, number(t, c.Store(), "SELECT count(*) FROM compactions WHERE text = '' AND lines = '' AND dropped = 0 AND dropped_lines = ''"), 1)
		}
	})
	t.Run("those that are damaged are not known, and the text stays", func(t *testing.T) {
		for _, damaged := range []string{"{", `[{"at": "x"}]`, "\x00"} {
			storetest.Run(t, c.Store(), "UPDATE compactions SET lines = ?, dropped_lines = ?", damaged, strings.Replace(damaged, `"at"`, `"why"`, 1)+"]")
			row := load(t, c).Head.Stack[0]
			check.That(t, row.Text == facts && row.Lines == nil && row.DroppedLines == nil && row.Kind == transcript.Leaf, "%q: %+v", damaged, row)
		}
	})
	t.Run("a thread gets a copy, which a deletion empties", func(t *testing.T) {
		channel := imported(t, 9)
		withLines(t, channel, transcript.Worker)
		storetest.Run(t, channel.Store(), "UPDATE conversations SET name = 'discord:1/10' WHERE name = ?", channel.Name())
		thread := find(t, channel.Store(), "discord:1/10/m2")
		deliver(t, thread, said(1, "hello"))
		copied := load(t, thread).Head.Inherited.Stack[0]
		check.Contains(t, "shown in the thread", copied.RenderInherited(), "- it leaves at nine [no evidence]")
		check.Equal(t, "tokens", copied.Tokens, copied.InheritedCost())
		remove(t, find(t, channel.Store(), "discord:1/10"), 2)
		check.Equal(t, "copies with lines", number(t, channel.Store(), "SELECT count(*) FROM inherited WHERE lines <> ''"), 0)
	})
}

func TestRewrittenLineIsStored(t *testing.T) {
	t.Run("an undo takes it back, and then the summary", func(t *testing.T) {
		c := imported(t, 9)
		old := withLines(t, c, transcript.Worker)
		before := load(t, c)
		row := rewrite(t, c, old.ID, 2, "it leaves at ten")
		check.That(t, row.Text == "## Facts\n- the boat is red (#2)\n- it leaves at ten" && row.Lines[1].By == "Ann" && row.Dropped == 3, "%+v", row)
		c = reopen(t, c)
		check.That(t, reflect.DeepEqual(load(t, c).Head.Stack[0], row), "after a restart: %+v", load(t, c).Head.Stack[0])
		checkCoverage(t, c)
		undo(t, c)
		wantState(t, c, before)
		undo(t, c)
		check.Equal(t, "stack", stack(t, c), "")
	})
	t.Run("a rollup keeps its children", func(t *testing.T) {
		c := imported(t, 9)
		ids := play(t, c, "sum 1-3; sum 4-6; roll 1-6: - one\n- two; apply")
		row := rewrite(t, c, ids[2], 1, "three")
		children := func(of int64) []int64 {
			return transcript.IDs(check.Must(c.Transcript().Expand(ctx, of, 1, 9))(t).Children)
		}
		check.EqualAll(t, "children", children(row.ID), ids[:2])
		undo(t, c)
		check.EqualAll(t, "children after an undo", children(ids[2]), ids[:2])
	})
	t.Run("a line of an earlier session can be taken back in the session in which it was written", func(t *testing.T) {
		c := imported(t, 9)
		old := withLines(t, c, transcript.Worker)
		play(t, c, "sum 5-9; new; say 10-12")
		row := rewrite(t, c, old.ID, 2, "it leaves at ten")
		play(t, c, "say 13-13")
		undo(t, c)
		check.Equal(t, "the row", check.Must(c.Compactions().Rows(ctx, []int64{row.ID}))(t)[0].State, transcript.Undone)
		rewrite(t, c, old.ID, 2, "it leaves at ten")
		play(t, c, "say 14-14; new; say 15-16")
		check.Contains(t, "in the next one", latest(t, c).Why, "before the last /new")
	})
	t.Run("a repair keeps it", func(t *testing.T) {
		c := imported(t, 9)
		first := withLines(t, c, transcript.Extractive)
		row := rewrite(t, c, first.ID, 2, "it leaves at ten")
		play(t, c, "repair 1-4; apply")
		now := load(t, c).Head.Stack[0]
		check.That(t, now.ID != row.ID && now.Text == "better\n- it leaves at ten" && now.Lines[0].ByID == "0", "%+v", now)
		check.Equal(t, "tokens", now.Tokens, now.Cost())
		undo(t, c)
		check.Equal(t, "text after an undo of the line and the repair", load(t, c).Head.Stack[0].Text, first.Text)
	})
}
