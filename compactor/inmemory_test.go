package compactor_test

import (
	"context"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/transcript"
)

func TestInMemory(t *testing.T) {
	ctx := context.Background()
	filled := func(t *testing.T) *compactor.InMemory {
		r := compactor.NewInMemory(nil)
		for seq := int64(1); seq <= 6; seq++ {
			check.NoError(t, r.Append(chat.Message{Seq: seq, Turn: seq, Role: llm.RoleUser, Text: "a word", Tokens: 6, Addressed: seq == 2}))
		}
		return r
	}
	leaf := compactor.Compaction{Kind: compactor.Leaf, Level: 1, By: compactor.ByExtractive, Trigger: compactor.OnManual, State: compactor.Running, Span: compactor.Span{From: 1, To: 3}, Messages: 3}

	t.Run("a message out of order is rejected", func(t *testing.T) {
		r := filled(t)
		check.Error(t, r.Append(chat.Message{Seq: 4, Turn: 4}), transcript.ErrOrder)
		check.Len(t, "messages", check.Must(r.Span(ctx, 1, 9))(t), 6)
	})
	t.Run("a reload restores the state, and fails a running row", func(t *testing.T) {
		r := filled(t)
		first, err := r.Begin(ctx, leaf)
		check.NoError(t, err)
		_, err = first.Store(ctx, summarize.Summary{Text: "Words."})
		check.NoError(t, err)
		second, err := r.Begin(ctx, compactor.Compaction{Kind: compactor.Leaf, Level: 1, By: compactor.ByExtractive, Trigger: compactor.OnManual, State: compactor.Running, Span: compactor.Span{From: 4, To: 5}, Messages: 2})
		check.NoError(t, err)
		s, err := r.Load(ctx)
		check.NoError(t, err)
		if len(s.Messages) != 6 || len(s.First) != 1 || s.Next != 7 || len(s.Prepared) != 1 || s.Prepared[0].ID != first.ID() {
			t.Errorf("got %d messages, first %d, next seq %d, prepared %+v", len(s.Messages), len(s.First), s.Next, s.Prepared)
		}
		ended, err := r.Ended(ctx, []int64{first.ID(), second.ID()})
		if err != nil || len(ended) != 1 || ended[0].ID != second.ID() || ended[0].State != compactor.Failed {
			t.Errorf("got ended %+v, %v", ended, err)
		}
	})
	t.Run("a refused undo has a reason", func(t *testing.T) {
		if l, err := filled(t).Latest(ctx); err != nil || l.Why == "" {
			t.Errorf("%+v, %v", l, err)
		}
	})
}
