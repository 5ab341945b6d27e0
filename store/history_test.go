package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/words"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func TestExpand(t *testing.T) {
	c := imported(t, 10)
	rows := play(t, c, "leaf 1-3; leaf 4-8; apply; roll 1-8; apply; delete 5; leaf 9-10") // the last one is not in the window
	a := rows[0]
	b := rows[1]
	up := rows[2]
	prepared := rows[3] // up is a placeholder, and keeps its children
	expand := func(id, from int64, limit int, next int64, want ...int64) {
		t.Helper()
		e := check.Must(c.Transcript().Expand(ctx, id, from, limit))(t)
		check.EqualAll(t, fmt.Sprintf("row %d from %d", id, from), storetest.Seqs(e.Messages), want)
		check.That(t, e.Next == next && e.Row.ID == id, "row %d from %d: got %d, next %d", id, from, e.Row.ID, e.Next)
	}
	expand(a, 1, 100, 0, 1, 2, 3)
	expand(b, 1, 2, 7, 4, 6)
	expand(b, 7, 2, 0, 7, 8)
	expand(a, 4, 2, 0)
	expand(up, 1, 100, 0)
	e := check.Must(c.Transcript().Expand(ctx, up, 1, 100))(t)
	check.EqualAll(t, "children", transcript.IDs(e.Children), []int64{a, b})
	for _, id := range []int64{prepared, 999} {
		check.Error(t, check.ErrorOf(c.Transcript().Expand(ctx, id, 1, 100)), store.ErrNotFound)
	}
	check.Error(t, check.ErrorOf(find(t, c.Store(), "terminal:other").Transcript().Expand(ctx, a, 1, 100)), store.ErrNotFound)
}

func shape(s store.AppliedStep) string {
	return strings.Join(storetest.Map(s.All, func(l store.ListedCompaction) string {
		return fmt.Sprintf("%s %s %d-%d", l.Kind, l.By, l.From, l.To)
	}), ", ")
}

func TestCompactionsAreListedByPlace(t *testing.T) {
	c := newTalk(t)
	a := play(t, c, "say 1-8; sum 1-3")[0]
	check.NoError(t, c.Compactions().Measured(ctx, a, 900, 400))
	b := play(t, c, "say 9; hide 4-6; leaf 5-6; leaf 7-8; apply; undo; edit 2")[0] // splits the placeholder; edits are no compactions
	all := check.Must(storetest.Steps(c))(t)
	check.EqualAll(t, "applied", storetest.Map(all, shape), []string{"leaf worker 1-3", "placeholder emergency 4-6", "leaf worker 5-6, leaf worker 7-8"})
	places := all[0].Next == 9 && all[1].Next == 10 && all[0].BeforeTokens == 900 && all[0].AfterTokens == 400
	check.That(t, places && all[2].State == string(transcript.Undone), "got applied compactions %+v", all)
	last := all[2]
	tokens := last.SummaryTokens == last.All[0].SummaryTokens+last.All[1].SummaryTokens
	check.That(t, tokens && last.Summaries == 2 && last.From == 5 && last.To == 8 && last.Messages == 4 && last.ID == b, "got last step %+v", last)
	before, total, err := c.Store().Compactions(ctx, store.CompactionFilter{Conversation: c.Name(), Applied: true, Before: 9})
	check.That(t, err == nil && total == 1 && before[0].ID == a && before[0].Next == 9, "got compactions before message 9 %+v, %v", before, err)
}

func TestListingShowsPlaceNames(t *testing.T) {
	c := newTalk(t)
	say := func(id int, label, want string) {
		t.Helper()
		m := said(id, "hello")
		m.Label = label
		deliverOnly(t, c, m)
		all, total, err := c.Store().Places(ctx, "", -1, 0)
		check.That(t, err == nil && len(all) == 1 && total == 1 && all[0].Name == want, "after message %d: %+v, %d, %v", id, all, total, err)
	}
	say(1, "", "")
	say(2, "#general · Cozy Corner", "#general · Cozy Corner")
	say(3, "", "#general · Cozy Corner")
	say(5, strings.Repeat("é", 200)+"x", strings.Repeat("é", 150))
	deliver(t, c)
	remove(t, c, 5)
	all, _, err := c.Store().Places(ctx, "", -1, 0)
	check.That(t, err == nil && all[0].Messages == 3 && all[0].Last.Equal(said(3, "").Time), "with a deleted message: %+v, %v", all, err)
	check.NoError(t, privacy.Of(c).Purge(ctx))
	page, total, err := c.Store().Places(ctx, "", 10, 0)
	check.That(t, err == nil && len(page)+total == 0, "places after the only one was deleted: %+v, %d, %v", page, total, err)
	say(6, "", "")
}

func TestRecent(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "a"), said(2, "b"), said(3, "c"))
	deliverOnly(t, c, said(5, "waits"))
	edit(t, c, 2, "b, corrected")
	remove(t, c, 3)
	want := func(since time.Time, limit int, want ...string) {
		t.Helper()
		got := check.Must(c.Transcript().Recent(ctx, since, limit))(t)
		check.Len(t, "recent", got, len(want))
		for _, m := range got {
			check.That(t, slices.Contains(want, m.ID) && m.Edited.IsZero() == (m.ID != "m2") && time.Since(m.Saved) < time.Hour, "got %+v", m)
		}
	}
	want(storetest.Day, 10, "m1", "m2", "m5") // what waits and what was taken up
	want(storetest.Day, 2, "m2", "m5")
	want(said(5, "").Time, 10, "m5")
}

func TestCompactionListMatchesView(t *testing.T) {
	c := imported(t, 9)
	s := c.Store()
	check.NoError(t, c.Compactions().Measured(ctx, play(t, c, "sum 1-3")[0], 900, 400))
	check.NoError(t, check.ErrorOf(begin(t, c, 4, 5).Fail(ctx, "no model")))
	play(t, c, "sum 4-6 extractive; undo; leaf 7-8")
	play(t, find(t, s, "terminal:other"), "say 1; sum 1-1 extractive")
	all, total, err := s.Compactions(ctx, store.CompactionFilter{})
	check.Require(t, err == nil && total == 5 && len(all) == 5, "%d of %d, %v", len(all), total, err)
	for _, l := range all {
		got := storetest.Rows(t, s, fmt.Sprintf(`SELECT channel || ' ' || state || ' ' || trigger || ' ' || kind || ' #' || from_seq || '-#' || to_seq || ' ' || messages || ' ' ||
			before_tokens || ' ' || after_tokens || ' ' || summary_tokens || ' ' || made_by || ' ' || model || '|' || error || ' ' || coalesce(applied_at, started_at) FROM compactions_view WHERE id = %d`, l.ID))
		check.EqualAll(t, "view", got, []string{fmt.Sprintf("%s %s %s %s #%d-#%d %d %d %d %d %s %s|%s %s", l.Channel, l.State, l.Trigger, l.Kind, l.From, l.To,
			l.Messages, l.BeforeTokens, l.AfterTokens, l.SummaryTokens, l.By, l.Model, l.Error, l.Time.UTC().Format(time.DateTime))})
	}
	for _, f := range []struct {
		store.CompactionFilter
		want, total int
	}{
		{store.CompactionFilter{Conversation: "terminal:other"}, 1, 1},
		{store.CompactionFilter{State: "failed"}, 1, 1},
		{store.CompactionFilter{Since: time.Now().AddDate(0, 0, 1)}, 0, 0},
		{store.CompactionFilter{Since: time.Now().AddDate(0, 0, -1)}, 5, 5},
		{store.CompactionFilter{Limit: 2}, 2, 5},
	} {
		found, total, err := s.Compactions(ctx, f.CompactionFilter)
		check.That(t, err == nil && len(found) == f.want && total == f.total, "%+v: got %+v of %d, %v", f, found, total, err)
		check.That(t, f.Limit == 0 || !found[0].Time.After(found[1].Time) && found[1].ID == all[4].ID, "the newest: %+v", found)
	}
	_, _, err = s.Compactions(ctx, store.CompactionFilter{Conversation: "terminal:lost"})
	check.Error(t, err, store.ErrNotFound)
	for _, state := range store.CompactionStates { // the table knows them all
		storetest.Run(t, s, "UPDATE compactions SET state = ? WHERE id = 1", state)
	}
	// Another view shows what is not deleted. Nobody writes to them.
	const line = "SELECT '#' || seq || ' ' || author || ' ' || said_at || ' ' || text FROM messages_view WHERE channel = 'terminal:general' ORDER BY seq"
	edit(t, c, 1, "the "+secret)
	remove(t, c, 2, 3, 4, 5, 6, 7, 8)
	const at = " Bob 2026-03-01 09:0"
	check.EqualAll(t, "messages", storetest.Rows(t, s, line), []string{"#1" + at + "1:00 the " + secret, "#9" + at + "9:00 message number 9"})
	remove(t, c, 1)
	const texts = "SELECT text FROM messages_view UNION ALL SELECT summary FROM compactions_view"
	check.Lacks(t, "views", strings.Join(storetest.Rows(t, s, texts), "\n"), secret, "message number 8")
	for _, view := range []string{"messages_view", "compactions_view"} {
		check.ErrorContains(t, view, check.ErrorOf(s.Writing().Exec("DELETE FROM "+view)), storetest.NotOfView)
	}
}

func TestUsage(t *testing.T) {
	c := newTalk(t)
	other := find(t, c.Store(), "test:b")
	const day, next = "2026-03-28", "2026-03-29"
	add := func(c *store.Conversation, more ...store.Usage) error { return c.Turns().AddUsage(ctx, more) }
	check.NoError(t, add(c, usageRow(day, store.ForTurn, "m", 1), usageRow(day, store.ForSummary, "m", 2)))
	check.NoError(t, add(c, usageRow(day, store.ForTurn, "m", 3)))
	check.NoError(t, add(c, usageRow(next, store.ForTurn, "other", 1)))
	long := usageRow(next, store.ForTurn, "other", 2)
	long.Long = true
	check.NoError(t, add(c, long))
	check.NoError(t, add(c))
	theirs := usageRow(next, store.ForTurn, "m", 1)
	theirs.Conversation = other.Name()
	check.NoError(t, add(other, theirs))
	bad := add(c, usageRow(day, store.ForTurn, "m", 1), usageRow("today", store.ForTurn, "m", 1))
	check.That(t, bad != nil, "an invalid row is accepted")
	mine := []store.Usage{usageRow(day, store.ForTurn, "m", 4), usageRow(day, store.ForSummary, "m", 2), usageRow(next, store.ForTurn, "other", 1), long}
	check.EqualAll(t, "what is added twice is one row, by day, kind, model and length of the prompt", usageTexts(check.Must(c.Turns().Usage(ctx))(t)), usageTexts(mine))
	for since, want := range map[string][]store.Usage{"": append(mine[:4:4], theirs), next: {mine[2], long, theirs}, "2026-03-30": nil} {
		check.EqualAll(t, fmt.Sprintf("of all since %q, oldest first", since), usageTexts(check.Must(c.Store().Usage(ctx, since))(t)), usageTexts(want))
	}
}

// Limits and refusals expire after a week, even if the factor was written later.
func TestModels(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	learned := llm.Facts{Window: 4096, Factor: 1.4, Scale: 150, RefusesTools: true, RefusesImages: true}
	keep := func(name string, f llm.Facts) {
		t.Helper()
		check.NoError(t, s.Models().Keep(ctx, name, f))
	}
	want := func(after string, days int, want llm.Facts) {
		t.Helper()
		storetest.Run(t, s, "UPDATE models SET updated_at = updated_at - ?", int64(days)*24*3600*1000)
		check.Equal(t, "after "+after, check.Must(s.Models().List(ctx))(t)["m@here"], want)
	}
	keep("m@here", llm.Facts{Window: 8192, Factor: 1.1, Scale: 100})
	keep("m@here", learned)
	keep("m@there", llm.Facts{RefusesTools: true})
	check.Equal(t, "another model", check.Must(s.Models().List(ctx))(t)["m@there"], llm.Facts{Factor: 1, Scale: 100, RefusesTools: true})
	want("keeping it", 0, learned)
	want("four days", 4, learned)
	learned.Factor = 1.5
	keep("m@here", learned)
	want("keeping another factor", 0, learned)
	want("eight days", 4, llm.Facts{Factor: 1.5, Scale: 150})
	want("learning it while the clock was a year ahead", -365, llm.Facts{Factor: 1.5, Scale: 150})
	keep("m@here", learned)
	want("learning it again", 0, learned)
}

// TestSaved: 10 messages of 100 tokens, summaries of 30 over them, and answers in between.
func TestSaved(t *testing.T) {
	c := imported(t, 10)
	storetest.Run(t, c.Store(), "UPDATE messages SET tokens = CASE WHEN id & 65535 = 9 THEN 90000 ELSE 100 END")
	seq := 11
	want := int64(0)
	for _, step := range []struct {
		claim, do string
		answers   int
		more      int64
	}{
		{"nothing without summaries", "", 3, 0},
		{"nothing before the next request", "sum 1-5", 0, 0},
		{"by each request after it was applied", "", 3, 3 * (500 - 30)},
		{"by two summaries", "sum 6-8", 2, 2*(500-30) + 2*(300-30)},
		{"by a rollup, from then on", "roll 1-8; apply", 1, 800 - 30},
		{"of a long message what a request would have shown", "sum 9-10", 1, 800 - 30 + 1000 + 100 - 30},
		{"nothing by an undone one", "undo", 0, -(1000 + 100 - 30)},
		{"nothing by an earlier session", "new", 4, 0},
	} {
		play(t, c, step.do)
		storetest.Run(t, c.Store(), "UPDATE compactions SET tokens = 30 WHERE kind <> 'placeholder'")
		for range step.answers {
			turn := deliver(t, c, asking(seq, fmt.Sprint("question ", seq)))[0].Turn
			storetest.Finish(t, c, turn, fmt.Sprint("reply-", turn))
			seq = int(turn) + 2
		}
		want += step.more
		check.Equal(t, step.claim, check.Must(c.Turns().Saved(ctx, 1000))(t), want)
	}
}

func TestVitals(t *testing.T) {
	c := newTalk(t)
	v := check.Must(c.Store().Upkeep().Vitals(ctx))(t)
	empty := v.Inbox+v.Outbox+v.Memories["active"] == 0 && v.InboxOldest.IsZero() && v.OutboxOldest.IsZero() && len(v.Memories) == 4
	check.That(t, empty, "of an empty store: %+v", v)
	before := time.Now().Add(-time.Millisecond)
	deliverOnly(t, c, said(1, "a"), said(2, "b"))
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b", "c"}}))
	check.NoError(t, c.Outbox().Sending(ctx, 1))
	check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
	for _, content := range []string{"one", "two", "three", "four"} {
		storetest.Keep(t, c, "Ann", content)
	}
	check.NoError(t, memory.Of(c).Forget(ctx, 4))
	v = check.Must(c.Store().Upkeep().Vitals(ctx))(t)
	counts := fmt.Sprint(v.Inbox, v.Outbox, v.Memories)
	check.Equal(t, "waiting, and memories", counts, "2 2 map[active:3 forgotten:1 replaced:0 superseded:0]")
	for _, oldest := range []time.Time{v.InboxOldest, v.OutboxOldest} {
		check.That(t, !oldest.Before(before) && !oldest.After(time.Now()), "got oldest %v", oldest)
	}
	check.That(t, v.Bytes > 100_000, "the size of the database: %+v", v)
	if !storetest.OnPostgres {
		size := check.Must(os.Stat(c.Store().Path()))(t).Size()
		check.That(t, v.Bytes == size && v.LogBytes > 0 && v.Free > 0, "the file has %d bytes; got %+v", size, v)
	}
	check.NoError(t, c.Store().Close())
	check.That(t, check.ErrorOf(c.Store().Upkeep().Vitals(ctx)) != nil, "vitals of a closed store")
}

// Of many messages of a time, Said returns some of the whole time, the newest first, whatever order the database reads them in.
func TestSaidIsSpread(t *testing.T) {
	c := newTalk(t)
	past := make([]store.Inbound, 12_000)
	for i := range past {
		past[i] = said(i+1, "text")
		past[i].Time = storetest.Day.Add(time.Duration(i) * time.Second)
	}
	check.Must(c.Past().Import(ctx, past))(t)
	storetest.Run(t, c.Store(), "ANALYZE")
	var want []int64
	for n := range int64(10) {
		want = append(want, 12_000-200*n)
	}
	in := words.Span{From: storetest.Day, To: storetest.Day.Add(4 * time.Hour)}
	check.NoError(t, c.Store().View(ctx, func(tx *store.Tx) {
		check.EqualAll(t, "messages of the time", c.Messages(tx).Index(12_001).Said(in, "", 10), want)
	}))
}
