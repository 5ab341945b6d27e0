package memory

import (
	"reflect"
	"slices"
	"testing"

	"cairn/internal/check"
)

func TestReadBack(t *testing.T) {
	asked := func(n int) Inbound {
		m := said(n, "what do you think?")
		m.Addressed = true
		return m
	}
	t.Run("it is wanted from the first message on that waits for an answer", func(t *testing.T) {
		c := newConversation(t)
		want := func(wantDone bool, wantFirst string) {
			t.Helper()
			if done, first, err := c.Past().ReadBack(ctx); done != wantDone || first != wantFirst || err != nil {
				t.Errorf("%v, %q, %v", done, first, err)
			}
		}
		want(false, "")
		deliverOnly(t, c, said(5, "overheard"))
		want(false, "")
		deliverOnly(t, c, asked(6), asked(7))
		want(false, "m6")
		check.Must(c.Past().Backfill(ctx, nil))(t)
		want(true, "m6")
	})
	t.Run("what was said before stands before the question, and nobody answers it", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(2, "overheard long ago"))
		deliverOnly(t, c, said(4, "overheard"), asked(5))
		m := asked(3)
		m.ReplyTo, m.Quote = "m2", `Ann: "overheard…"`
		added, err := c.Past().Backfill(ctx, []Inbound{said(1, "the very first"), said(2, "known"), m, said(4, "waits")})
		if err != nil || !slices.Equal(seqs(added), []int64{2, 3}) || added[0].Turn != 2 || added[1].Turn != 3 {
			t.Fatalf("%+v, %v", added, err)
		}
		if got := added[1]; got.ReplySeq != 1 || got.Quote != "" {
			t.Errorf("the reply is %+v", got)
		}
		if state := load(t, c); state.Open != 0 || state.Next != 4 || !reflect.DeepEqual(state.Messages[1:], added) {
			t.Errorf("loaded %+v, want %+v", state, added)
		}
		if found, err := MemoriesOf(c).Recall(ctx, Question{Text: "very first", Limit: 5, Before: maxSeq}); err != nil || len(found) == 0 || found[0].Seq != 2 {
			t.Errorf("recalled %+v, %v", found, err)
		}
		if taken := deliver(t, c); len(taken) != 2 || taken[0].Text != "overheard" || taken[1].Turn != 5 {
			t.Errorf("took up %+v", taken)
		}
	})
	t.Run("a deleted message is not read back", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "a"))
		deliverOnly(t, c, said(2, "b"))
		remove(t, c, 1, 2)
		if added, err := c.Past().Backfill(ctx, []Inbound{said(1, "a"), said(2, "b")}); len(added) != 0 || err != nil {
			t.Errorf("%+v, %v", added, err)
		}
	})
	t.Run("all of it or nothing", func(t *testing.T) {
		c := newConversation(t)
		before := dump(t, c.store)
		if _, err := c.Past().Backfill(ctx, []Inbound{said(1, "a"), {Text: "no id"}}); err == nil {
			t.Error("no error")
		}
		check.Equal(t, "something has changed", dump(t, c.store), before)
	})
	t.Run("what was imported need not be read back", func(t *testing.T) {
		c := imported(t, 3)
		if done, _, err := c.Past().ReadBack(ctx); !done || err != nil {
			t.Errorf("%v, %v", done, err)
		}
	})
}

func TestReplies(t *testing.T) {
	reply := func(n int, to string) Inbound {
		m := said(n, "yes")
		m.ReplyTo, m.Quote = to, `Ann: "shall we…"`
		return m
	}
	t.Run("a reply knows the place of what it answers, in the same burst too", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "shall we go?"))
		taken := deliver(t, c, reply(2, "m1"), reply(3, "m2"))
		if taken[0].ReplySeq != 1 || taken[1].ReplySeq != 2 || taken[0].Quote != "" || taken[0].ReplyTo != "m1" {
			t.Errorf("took up %+v", taken)
		}
		if page, err := c.Transcript().Page(ctx, 2, 9); err != nil || !reflect.DeepEqual(page, taken) {
			t.Errorf("stored %+v, %v", page, err)
		}
	})
	t.Run("what stands elsewhere is quoted", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, find(t, c.store, "terminal:other"), said(1, "shall we go?"))
		if taken := deliver(t, c, reply(2, "m1")); taken[0].ReplySeq != 0 || taken[0].Quote == "" {
			t.Errorf("took up %+v", taken)
		}
	})
	t.Run("each piece of the bot's answer leads to its last message", func(t *testing.T) {
		c := newConversation(t)
		m := said(1, "what time is it?")
		m.Addressed = true
		deliver(t, c, m)
		finish(t, c, 1, 2, "reply-2", "half past", " nine")
		for row, id := range []string{"p1", "p2"} {
			check.NoError(t, c.Outbox().Sent(ctx, int64(row+1), id))
		}
		taken := deliver(t, c, reply(2, "p1"), reply(3, "p2"), reply(4, "p3"), reply(5, ""))
		for i, want := range []int64{2, 2, 0, 0} {
			if taken[i].ReplySeq != want {
				t.Errorf("message %d replies to %d, want %d", i+2, taken[i].ReplySeq, want)
			}
		}
	})
	t.Run("a notice is no message: a reply to it keeps its quote", func(t *testing.T) {
		c := newConversation(t)
		check.NoError(t, c.Outbox().Post(ctx, Outcome{Reply: "reply-1", Pieces: []string{"sorry"}}))
		check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
		if taken := deliver(t, c, reply(1, "p1")); taken[0].ReplySeq != 0 || taken[0].Quote == "" {
			t.Errorf("took up %+v", taken)
		}
	})
}
