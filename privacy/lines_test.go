package privacy_test

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// wrote applies a summary of the first messages in which a person then rewrites the only line.
func wrote(t *testing.T, c *store.Conversation, by transcript.Writer, text string) {
	t.Helper()
	j := storetest.Worker(t, c, 1, 4)
	check.Must(j.Store(ctx, summarize.Summary{Text: "- it rains"}))(t)
	storetest.ApplyRows(t, c, j.ID())
	storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) { return s.Rewrite(j.ID(), 0, text, by) })
}

func TestErasingLines(t *testing.T) {
	t.Run("what a person wrote in a summary is deleted, in every version, also if they said nothing", func(t *testing.T) {
		c := imported(t, 9)
		wrote(t, c, transcript.Writer{Name: "Cleo", ID: "c"}, "Ann plays the "+secret)
		row := storetest.Load(t, c).Head.Stack[0]
		storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) {
			return s.Rewrite(row.ID, 0, "Bob likes chess", transcript.Writer{Name: "Dan", ID: "d"})
		})
		in, held, err := privacy.In(c.Store()).Everywhere(ctx, store.Person{Connector: "terminal", ID: "c"})
		check.That(t, err == nil && len(in) == 1 && held.Total().Messages == 2, "%v, %v", held, err)
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "c"}, in...))(t)
		check.Equal(t, "erased", eraseAll(t, c, "c").Messages, 2) // Dan's version, too, knows what Cleo rewrote
		wantNoSecret(t, c)
		check.Equal(t, "rows with their name", number(t, c.Store(), "SELECT count(*) FROM compactions WHERE lines || dropped_lines LIKE '%Cleo%'"), 0)
		check.Equal(t, "shown", storetest.Load(t, c).Head.Stack[0].Text, "- Bob likes chess")
	})
	t.Run("a rollup that took it in, and a copy in a thread, are emptied, too", func(t *testing.T) {
		c := imported(t, 9)
		wrote(t, c, transcript.Writer{Name: "Cleo", ID: "c"}, "Ann plays the "+secret)
		other := storetest.Worker(t, c, 5, 6)
		check.Must(other.Store(ctx, summarize.Summary{Text: "- more"}))(t)
		storetest.ApplyRows(t, c, other.ID())
		fold := storetest.Begin(t, c, transcript.Summary{Kind: transcript.Rollup, By: transcript.Worker, Span: transcript.Span{From: 1, To: 6}, Children: transcript.IDs(storetest.Load(t, c).Head.Stack)})
		check.Must(fold.Store(ctx, summarize.Summary{Text: "- all of it"}))(t)
		storetest.ApplyRows(t, c, fold.ID())
		storetest.Run(t, c.Store(), "UPDATE conversations SET name = 'discord:1/10' WHERE id = ?", c.ID())
		c = storetest.Find(t, c.Store(), "discord:1/10")
		thread := storetest.Find(t, c.Store(), "discord:1/10/m2")
		deliver(t, thread, said(1, "hello"))
		check.Contains(t, "in the thread", storetest.Load(t, thread).Head.Inherited.Stack[0].Text, secret)
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "c"}, c))(t)
		eraseAll(t, c, "c")
		wantNoSecret(t, c)
		row := storetest.Load(t, c).Head.Stack[0]
		check.That(t, row.Kind == transcript.Placeholder && row.AwaitsModel && row.Messages == 6, "%+v", row)
	})
	t.Run("a fold that is only prepared, and repeats in other words what they wrote, is not applied", func(t *testing.T) {
		c := imported(t, 9)
		wrote(t, c, transcript.Writer{Name: "Cleo", ID: "c"}, "Bob is 42")
		fold := storetest.Begin(t, c, transcript.Summary{Kind: transcript.Rollup, By: transcript.Worker, Span: transcript.Span{From: 1, To: 4}, Children: transcript.IDs(storetest.Load(t, c).Head.Stack)})
		check.Must(fold.Store(ctx, summarize.Summary{Text: "- Bob is 42, Ann says"}))(t)
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "c"}, c))(t)
		eraseAll(t, c, "c")
		check.Equal(t, "rows with the words", number(t, c.Store(), "SELECT count(*) FROM compactions WHERE text LIKE '%42%'"), 0)
		check.Len(t, "prepared", storetest.Load(t, c).Prepared, 0)
	})
	t.Run("which lines a person removed is forgotten, and the summary stays", func(t *testing.T) {
		c := imported(t, 9)
		j := storetest.Worker(t, c, 1, 4)
		check.Must(j.Store(ctx, summarize.Summary{Text: "- it rains\n- the boat is red"}))(t)
		storetest.ApplyRows(t, c, j.ID())
		remove := func(at int, by transcript.Writer) {
			id := storetest.Load(t, c).Head.Stack[0].ID
			storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) { return s.Rewrite(id, at, "", by) })
		}
		storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) {
			return s.Rewrite(j.ID(), 1, "the boat is blue", transcript.Writer{Name: "Dan", ID: "d"})
		})
		remove(0, transcript.Writer{Name: "Cleo", ID: "c"})
		in, held, err := privacy.In(c.Store()).Everywhere(ctx, store.Person{Connector: "terminal", ID: "c"})
		check.That(t, err == nil && len(in) == 1 && held.Total().Messages == 1, "%v, %v", held, err)
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "c"}, in...))(t)
		eraseAll(t, c, "c")
		row := storetest.Load(t, c).Head.Stack[0]
		check.That(t, row.Text == "- the boat is blue" && len(row.DroppedLines) == 1 && row.DroppedLines[0].By == "Dan", "%+v", row)
		check.Equal(t, "rows with their name", number(t, c.Store(), "SELECT count(*) FROM compactions WHERE dropped_lines LIKE '%Cleo%'"), 0)
	})
}

func TestErasingLinesOfUnusualIDs(t *testing.T) {
	t.Run("an id that JSON escapes is found", func(t *testing.T) {
		c := imported(t, 9)
		wrote(t, c, transcript.Writer{Name: "Cleo", ID: "c&<o>"}, "Ann plays chess")
		in, held, err := privacy.In(c.Store()).Everywhere(ctx, store.Person{Connector: "terminal", ID: "c&<o>"})
		check.That(t, err == nil && len(in) == 1 && held.Total().Messages == 1, "%v, %v", held, err)
	})
	t.Run("another person of that name keeps theirs", func(t *testing.T) {
		c := imported(t, 9)
		wrote(t, c, transcript.Writer{Name: "Cleo", ID: "c"}, "Ann plays chess")
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "e"}, c))(t)
		eraseAll(t, c, "e")
		check.Equal(t, "shown", storetest.Load(t, c).Head.Stack[0].Text, "- Ann plays chess")
	})
}

// A line may say what a message before its span says, without any of its words.
func TestDeletionReachesLinesThatRestBesideTheirSpan(t *testing.T) {
	c := imported(t, 9)
	for from, sum := range map[int64]summarize.Summary{
		1: {Text: "- they met (#1)"},
		5: {Text: "- it rains\n- they know of the " + secret, Lines: []transcript.Line{{At: 0, Seqs: []int64{5}}, {At: 1, Seqs: []int64{2}, Beside: true, Earlier: 1}}},
	} {
		j := storetest.Worker(t, c, from, from+3)
		check.Must(j.Store(ctx, sum))(t)
	}
	storetest.ApplyRows(t, c, transcript.IDs(storetest.Load(t, c).Prepared)...)
	check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m9"}))
	check.Contains(t, "after another message was deleted", storetest.Load(t, c).Head.Stack[1].Text, secret)
	check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m2"}))
	wantNoSecret(t, c)
	row := storetest.Load(t, c).Head.Stack[1]
	check.That(t, row.Kind == transcript.Placeholder && row.AwaitsModel && row.Messages == 4, "%+v", row)
}

// The worker also reads messages outside a summary's span, so a dropped line may repeat one of them.
func TestDeletionReachesDroppedLines(t *testing.T) {
	for name, line := range map[string]transcript.DroppedLine{
		"its text":   {Text: "- the " + secret + " is hers", Why: "there is no message #9"},
		"the reason": {Text: "- it rains", Why: "#2 has the " + secret},
	} {
		t.Run(name, func(t *testing.T) {
			c := imported(t, 9)
			deliver(t, c, said(20, "the "+secret))
			j := storetest.Worker(t, c, 1, 4)
			check.Must(j.Store(ctx, summarize.Summary{Text: "- it rains", Dropped: 1, DroppedLines: []transcript.DroppedLine{line}}))(t)
			storetest.ApplyRows(t, c, j.ID())
			check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m20"}))
			wantNoSecret(t, c)
		})
	}
}
