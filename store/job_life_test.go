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

func TestJobLifecycle(t *testing.T) {
	t.Run("a failed job leaves a row with the reason, and no summary", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 4)
		check.NoError(t, j.Fail(ctx, "too slow"))
		check.Error(t, check.ErrorOf(j.Store(ctx, summarize.Summary{Text: "late", Tokens: 1})), store.ErrNotFound)
		_, rows := storetest.ApplyRows(t, c, j.ID())
		check.Equal(t, fmt.Sprintf("got row %+v", rows[0]), rows[0].State, transcript.Failed)
		check.Equal(t, fmt.Sprintf("the row is %+v rows[0].Error", rows[0]), rows[0].Error, "too slow")
		check.Equal(t, fmt.Sprintf("the row is %+v rows[0].Text", rows[0]), rows[0].Text, "")
	})
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
