package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
	"cairn/store"
	"cairn/transcript"
)

func TestExpand(t *testing.T) {
	c := storetest.Imported(t, 10)
	a, b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 4, 8)
	storetest.ApplyRows(t, c, a, b)
	up := storetest.StoreSummary(t, c, transcript.Rollup, transcript.Worker, 1, 8, a, b)
	storetest.ApplyRows(t, c, up)
	storetest.Remove(t, c, 5) // the rollup is a placeholder, and keeps its children
	expand := func(id, from int64, limit int, next int64, want ...int64) {
		t.Helper()
		e, err := c.Transcript().Expand(ctx, id, from, limit)
		if err != nil || !reflect.DeepEqual(storetest.Seqs(e.Messages), want) || e.Next != next || e.Row.ID != id {
			t.Errorf("row %d from %d: %v, next %d, %v; want %v, %d", id, from, storetest.Seqs(e.Messages), e.Next, err, want, next)
		}
	}
	expand(a, 1, 100, 0, 1, 2, 3)
	expand(b, 1, 100, 0, 4, 6, 7, 8)
	expand(b, 1, 2, 7, 4, 6)
	expand(b, 7, 2, 0, 7, 8)
	expand(a, 4, 2, 0)
	e, err := c.Transcript().Expand(ctx, up, 1, 100)
	if err != nil || !reflect.DeepEqual(transcript.IDs(e.Children), []int64{a, b}) || len(e.Messages) != 0 {
		t.Errorf("the rollup: %v, %v, %v", transcript.IDs(e.Children), storetest.Seqs(e.Messages), err)
	}
	prepared := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 9, 10) // is not in the window
	check.Error(t, check.ErrorOf(c.Transcript().Expand(ctx, prepared, 1, 100)), store.ErrNotFound)
	check.Error(t, check.ErrorOf(c.Transcript().Expand(ctx, 999, 1, 100)), store.ErrNotFound)
	other := storetest.Find(t, c.Store(), "terminal:other")
	check.Error(t, check.ErrorOf(other.Transcript().Expand(ctx, a, 1, 100)), store.ErrNotFound)
}

// shape describes what a step applied.
func shape(s store.AppliedStep) string {
	var parts []string
	for _, l := range s.All {
		parts = append(parts, fmt.Sprintf("%s %s %d-%d", l.Kind, l.By, l.From, l.To))
	}
	return strings.Join(parts, ", ")
}

func TestCompactionsAreListedByPlace(t *testing.T) {
	c := storetest.NewConversation(t)
	for i := range 8 {
		storetest.Deliver(t, c, storetest.Said(i+1, "text"))
	}
	a := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3)
	storetest.ApplyRows(t, c, a)
	check.NoError(t, c.Compactions().Measured(ctx, a, 900, 400))
	storetest.Deliver(t, c, storetest.Said(9, "text"))
	storetest.Hide(t, c, 4, 6)
	b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 5, 6) // splits the placeholder
	up := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 7, 8)
	storetest.ApplyRows(t, c, b, up)
	undo(t, c)
	storetest.Edit(t, c, 2, "other words") // makes a row that is not a compaction
	all, err := storetest.Steps(c)
	check.Require(t, err == nil && len(all) == 3, "%+v, %v", all, err)
	var got []string
	for _, l := range all {
		got = append(got, shape(l))
	}
	check.Equal(t, "applied compactions", strings.Join(got, "|"), "leaf worker 1-3|placeholder emergency 4-6|leaf worker 5-6, leaf worker 7-8")
	if all[0].Next != 9 || all[1].Next != 10 || all[0].BeforeTokens != 900 || all[0].AfterTokens != 400 || all[2].State != string(transcript.Undone) {
		t.Errorf("got applied compactions %+v", all)
	}
	if last := all[2]; last.Summaries != 2 || last.From != 5 || last.To != 8 || last.Messages != 4 || last.ID != b || last.SummaryTokens != last.All[0].SummaryTokens+last.All[1].SummaryTokens {
		t.Errorf("got last step %+v", last)
	}
	before, total, err := c.Store().Compactions(ctx, store.CompactionFilter{Conversation: c.Name(), Applied: true, Before: 9})
	if err != nil || total != 1 || before[0].ID != a || before[0].Next != 9 {
		t.Errorf("got compactions before message 9 %+v, %v", before, err)
	}
}

func TestListingShowsPlaceNames(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := check.Must(s.Conversation(ctx, "discord:9/20"))(t)
	name := func() string {
		t.Helper()
		all, err := s.Listing(ctx)
		check.Require(t, err == nil && len(all) == 1, "%+v, %v", all, err)
		return all[0].Name
	}
	for _, step := range []struct{ id, label, want string }{
		{"1", "", ""},
		{"2", "#general · Cozy Corner", "#general · Cozy Corner"},
		{"3", "", "#general · Cozy Corner"},
		{"4", "#plaza · Cozy Corner", "#plaza · Cozy Corner"},
		{"5", strings.Repeat("é", 200) + "x", strings.Repeat("é", 150)},
	} {
		check.Must(c.Inbox().Deliver(ctx, store.Inbound{ID: step.id, AuthorID: "1", Author: "Ada", Text: "hello", Label: step.label}))(t)
		check.Equal(t, fmt.Sprintf("name after message %s", step.id), name(), step.want)
	}
	check.NoError(t, privacy.Of(c).Purge(ctx))
	check.Len(t, "conversations after the only one was deleted", check.Must(s.Listing(ctx))(t), 0)
	if page, total, err := s.Places(ctx, "", 10, 0); err != nil || len(page)+total > 0 {
		t.Errorf("places after the only one was deleted: %+v, %d, %v", page, total, err)
	}
	check.Must(c.Inbox().Deliver(ctx, store.Inbound{ID: "6", AuthorID: "1", Author: "Ada", Text: "hello"}))(t)
	check.Equal(t, "name of a deleted conversation", name(), "")
}

func TestRecent(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(3, "c"))
	storetest.DeliverOnly(t, c, storetest.Said(5, "waits"))
	edit := storetest.Said(2, "b, corrected")
	edit.Time = edit.Time.Add(time.Minute)
	if _, _, err := c.Transcript().Edit(ctx, edit, nil); err != nil {
		t.Fatal(err)
	}
	check.Must(privacy.Of(c).Delete(ctx, []string{"m3"}))(t)
	for name, test := range map[string]struct {
		since, before time.Time
		limit         int
		want          string
	}{
		"what waits and what was taken up, and when it was edited": {storetest.Day, time.Now().Add(time.Hour), 10, "[m1 m2 edited m5]"},
		"the newest":                {storetest.Day, time.Now().Add(time.Hour), 2, "[m2 edited m5]"},
		"since a time":              {storetest.Said(5, "").Time, time.Now().Add(time.Hour), 10, "[m5]"},
		"what was stored by a time": {storetest.Day, time.Now().Add(-time.Hour), 10, "[]"},
	} {
		recent, err := c.Transcript().Recent(ctx, test.since, test.before, test.limit)
		got := []string{}
		for _, m := range recent {
			text := m.ID
			if m.Edited.Equal(edit.Time) {
				text += " edited"
			}
			got = append(got, text)
		}
		slices.Sort(got)
		check.NoError(t, err)
		check.Equal(t, name+": fmt.Sprint(got)", fmt.Sprint(got), test.want)
	}
}
