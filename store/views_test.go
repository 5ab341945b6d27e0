package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
	"cairn/transcript"
)

// viewed returns the result of a query on a view, one row per line.
func viewed(t *testing.T, s *store.Store, query string) string {
	t.Helper()
	rows := check.Must(s.Reading().Query(query))(t)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		check.NoError(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	check.NoError(t, rows.Err())
	return strings.Join(lines, "\n")
}

// compacted returns a conversation with an applied, a failed, an undone and a prepared
// compaction.
func compacted(t *testing.T) *store.Conversation {
	c := storetest.Imported(t, 9)
	a := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3)
	storetest.ApplyRows(t, c, a)
	check.NoError(t, c.Compactions().Measured(ctx, a, 900, 400))
	check.NoError(t, storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 4, 5).Fail(ctx, "no model"))
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 4, 6))
	undo(t, c)
	storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 7, 8)
	other := storetest.Find(t, c.Store(), "terminal:other")
	storetest.Deliver(t, other, storetest.Said(1, "here"))
	storetest.ApplyRows(t, other, storetest.StoreSummary(t, other, transcript.Leaf, transcript.Extractive, 1, 1))
	return c
}

func TestCompactionListMatchesView(t *testing.T) {
	c := compacted(t)
	s := c.Store()
	all, total, err := s.Compactions(ctx, store.CompactionFilter{})
	check.Require(t, err == nil && total == 5 && len(all) == 5, "%d of %d, %v", len(all), total, err)
	for _, l := range all {
		got := viewed(t, s, fmt.Sprintf(`SELECT format('%%s %%s %%s %%s #%%d-#%%d %%d %%d %%d %%d %%s %%s|%%s %%s', channel, state, trigger, kind, from_seq, to_seq, messages,
			before_tokens, after_tokens, summary_tokens, made_by, model, error, coalesce(applied_at, started_at)) FROM compactions_view WHERE id = %d`, l.ID))
		want := fmt.Sprintf("%s %s %s %s #%d-#%d %d %d %d %d %s %s|%s %s", l.Channel, l.State, l.Trigger, l.Kind, l.From, l.To, l.Messages,
			l.BeforeTokens, l.AfterTokens, l.SummaryTokens, l.By, l.Model, l.Error, l.Time.UTC().Format(time.DateTime))
		check.Equal(t, "view", got, want)
	}
	for name, f := range map[string]struct {
		store.CompactionFilter
		want, total int
	}{
		"of a conversation": {store.CompactionFilter{Conversation: "terminal:other"}, 1, 1},
		"of a state":        {store.CompactionFilter{State: "failed"}, 1, 1},
		"since tomorrow":    {store.CompactionFilter{Since: time.Now().AddDate(0, 0, 1)}, 0, 0},
		"since yesterday":   {store.CompactionFilter{Since: time.Now().AddDate(0, 0, -1)}, 5, 5},
		"the newest":        {store.CompactionFilter{Limit: 2}, 2, 5},
	} {
		found, total, err := s.Compactions(ctx, f.CompactionFilter)
		check.NoError(t, err)
		check.Len(t, name, found, f.want)
		check.Equal(t, name+": total", total, f.total)
		check.That(t, f.Limit <= 0 || !found[0].Time.After(found[1].Time) && found[1].ID == all[4].ID, "%s: %+v", name, found)
	}
	if _, _, err := s.Compactions(ctx, store.CompactionFilter{Conversation: "terminal:lost"}); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	for _, state := range store.CompactionStates {
		if _, err := s.Writing().Exec("UPDATE compactions SET state = ? WHERE id = 1", state); err != nil {
			t.Errorf("the table rejects the state %s: %v", state, err)
		}
	}
}

func TestViewsShowNoDeletedText(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(3, "c"), storetest.Said(4, "the "+storetest.Secret+" is mine"), storetest.Said(5, "and the piano"))
	for _, one := range []int64{3, 5} {
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, one-1, one)
		check.Must(j.Store(ctx, summarize.Summary{Text: "about the " + storetest.Secret, Tokens: 7}))(t)
		storetest.ApplyRows(t, c, j.ID())
	}
	const both = "SELECT text FROM messages_view UNION ALL SELECT summary FROM compactions_view"
	check.Contains(t, "before", viewed(t, c.Store(), both), "the "+storetest.Secret+" is mine\nand the piano")
	storetest.Remove(t, c, 2, 3, 4)
	after := viewed(t, c.Store(), both)
	check.Lacks(t, "views after the deletion", after, storetest.Secret)
	check.Contains(t, "views after the deletion", after, "and the piano")
	var left []string
	for _, n := range []int{1, 5} {
		m := storetest.Said(n, "")
		left = append(left, fmt.Sprintf("terminal:general #%d %s %s", n, m.Author, m.Time.UTC().Format(time.DateTime)))
	}
	check.Equal(t, "messages left", viewed(t, c.Store(), "SELECT format('%s #%d %s %s', channel, seq, author, said_at) FROM messages_view ORDER BY seq"), strings.Join(left, "\n"))
	for _, view := range []string{"messages_view", "compactions_view"} {
		if _, err := c.Store().Writing().Exec("DELETE FROM " + view); err == nil {
			t.Errorf("%s is writable", view)
		}
	}
}
