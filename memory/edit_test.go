package memory

import (
	"context"
	"reflect"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
)

func editedLater(n int, text string, hours int) Inbound {
	m := said(n, text)
	m.Time = day.Add(time.Duration(hours) * time.Hour)
	return m
}

func TestEdit(t *testing.T) {
	t.Run("one that waits is taken up in its new form, as what it was", func(t *testing.T) {
		c := newConversation(t)
		m := said(1, "buy mlik")
		m.Addressed, m.ReplyTo, m.Quote = true, "m0", "x"
		deliverOnly(t, c, m)
		check.Equal(t, "the result", edit(t, c, 1, "buy milk"), 0)
		taken := deliver(t, c)
		if got := taken[0]; len(taken) != 1 || got.Text != "buy milk" || !got.Addressed || got.Quote != "x" || !got.Time.Equal(m.Time) || got.Tokens != chat.TokensOf(got) {
			t.Errorf("took up %+v", taken)
		}
	})
	t.Run("one that was taken up keeps its place; text, cost and index are new", func(t *testing.T) {
		c := newConversation(t)
		taken := deliver(t, c, said(1, "the meeting is on Monday"), said(2, "fine"))
		before := version(t, c)
		check.Equal(t, "the result", edit(t, c, 1, "the meeting is on Tuesday, in the large room"), 1)
		want := taken[0]
		want.Text = "the meeting is on Tuesday, in the large room"
		want.Tokens = chat.TokensOf(want)
		if m, err := c.Transcript().Message(ctx, 1); err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%+v, %v", m, err)
		}
		if got := recalled(t, c, "Monday"); got != nil {
			t.Errorf("its old words find %v", got)
		}
		check.EqualAll(t, "its new words find", recalled(t, c, "large room Tuesday"), []int64{1})
		if got := version(t, c); got != before+1 {
			t.Errorf("the version went from %d to %d", before, got)
		}
	})
	t.Run("the later of two edits wins, in whichever order they come", func(t *testing.T) {
		for _, waits := range []bool{true, false} {
			c := newConversation(t)
			deliverOnly(t, c, said(1, "first"))
			if !waits {
				deliver(t, c)
			}
			for _, test := range []struct {
				m    Inbound
				want bool
			}{{editedLater(1, "third", 3), true}, {editedLater(1, "second", 2), false}, {editedLater(1, "third", 3), false}, {editedLater(1, "fourth", 4), true}} {
				if _, changed, err := c.Transcript().Edit(ctx, test.m); changed != test.want || err != nil {
					t.Errorf("waits %v: %q changed %v, %v", waits, test.m.Text, changed, err)
				}
			}
			deliver(t, c)
			if m, err := c.Transcript().Message(ctx, 1); err != nil || m.Text != "fourth" {
				t.Errorf("waits %v: %+v, %v", waits, m, err)
			}
		}
	})
	t.Run("a repetition of the old form does not undo it", func(t *testing.T) {
		c := newConversation(t)
		deliverOnly(t, c, said(1, "first"))
		edit(t, c, 1, "second")
		deliverOnly(t, c, said(1, "first"))
		check.Equal(t, "took up", deliver(t, c)[0].Text, "second")
	})
}

func TestWhatNoEditChanges(t *testing.T) {
	t.Run("one that says the same changes nothing", func(t *testing.T) {
		c := newConversation(t)
		deliverOnly(t, c, said(1, "a"), incomplete(2, "b"))
		deliver(t, c)
		before := version(t, c)
		for n, text := range map[int]string{1: "a", 2: "b"} {
			if _, changed, err := c.Transcript().Edit(ctx, editedLater(n, text, 1)); changed || err != nil {
				t.Errorf("message %d: %v, %v", n, changed, err)
			}
		}
		check.Equal(t, "incomplete", len(check.Must(c.Inbox().Incomplete(ctx))(t)), 1)
		check.Equal(t, "the version", version(t, c), before)
	})
	t.Run("what is not known, not a person's, or deleted, stays so", func(t *testing.T) {
		c := newConversation(t)
		m := said(1, "what time is it?")
		m.Addressed = true
		deliver(t, c, m)
		finish(t, c, 1, 2, "reply-2", "half past nine")
		deliver(t, c, said(3, "thanks"))
		remove(t, c, 3)
		other := find(t, c.store, "terminal:other")
		before := dump(t, c.store)
		for _, id := range []string{"m9", "reply-2", "m3"} {
			m := editedLater(1, "other words", 1)
			m.ID = id
			if seq, changed, err := c.Transcript().Edit(ctx, m); seq != 0 || changed || err != nil {
				t.Errorf("%s: %d, %v, %v", id, seq, changed, err)
			}
		}
		if seq, changed, err := other.Transcript().Edit(ctx, editedLater(1, "other words", 1)); seq != 0 || changed || err != nil {
			t.Errorf("from another conversation: %d, %v, %v", seq, changed, err)
		}
		check.Equal(t, "something has changed", dump(t, c.store), before)
		if _, _, err := c.Transcript().Edit(ctx, Inbound{Text: "x"}); err == nil {
			t.Error("one without an id is no error")
		}
	})
	t.Run("an edit starts no turn and ends none", func(t *testing.T) {
		c := newConversation(t)
		m := said(1, "what tmie is it?")
		m.Addressed = true
		deliver(t, c, m)
		now := editedLater(1, "what time is it?", 1)
		if _, changed, err := c.Transcript().Edit(ctx, now); !changed || err != nil {
			t.Fatal(changed, err)
		}
		if turn, ok, err := c.Turns().Unanswered(ctx); !ok || turn.Seq != 1 || turn.Attempts != 1 || err != nil {
			t.Errorf("%+v, %v, %v", turn, ok, err)
		}
	})
	t.Run("a message that is not there is not found", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "a"), said(2, "b"))
		remove(t, c, 1)
		for _, seq := range []int64{0, 1, 3, -5} {
			check.Error(t, check.ErrorOf(c.Transcript().Message(ctx, seq)), ErrNotFound)
		}
		check.Error(t, check.ErrorOf(find(t, c.store, "terminal:other").Transcript().Message(context.Background(), 2)), ErrNotFound)
	})
}
