package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

func TestReadBack(t *testing.T) {
	asked := func(n int) store.Inbound {
		return storetest.Asking(n, "what do you think?")
	}
	t.Run("backfill is due from the first addressed message on", func(t *testing.T) {
		c := storetest.NewConversation(t)
		want := func(wantDone bool, wantFirst string) {
			t.Helper()
			if done, first, err := c.Past().ReadBack(ctx); done != wantDone || first != wantFirst || err != nil {
				t.Errorf("%v, %q, %v", done, first, err)
			}
		}
		want(false, "")
		storetest.DeliverOnly(t, c, storetest.Said(5, "overheard"))
		want(false, "")
		storetest.DeliverOnly(t, c, asked(6), asked(7))
		want(false, "m6")
		check.Must(c.Past().Backfill(ctx, nil, nil))(t)
		want(true, "m6")
	})
	t.Run("if it failed, it is due again at the next message of a thread that the bot follows", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, inThread(6, true))
		storetest.Deliver(t, c)
		storetest.DeliverOnly(t, c, inThread(7, false))
		if done, first, err := c.Past().ReadBack(ctx); done || first != "m7" || err != nil {
			t.Errorf("%v, %q, %v", done, first, err)
		}
	})
	t.Run("earlier messages are placed before the question, unanswered", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(2, "overheard long ago"))
		storetest.DeliverOnly(t, c, storetest.Said(4, "overheard"), asked(5))
		m := asked(3)
		m.ReplyTo, m.Quote = "m2", `Ann: "overheard…"`
		added, err := c.Past().Backfill(ctx, []store.Inbound{storetest.Said(1, "the very first"), storetest.Said(2, "known"), m, storetest.Said(4, "waits")}, nil)
		if err != nil || !slices.Equal(storetest.Seqs(added), []int64{2, 3}) || added[0].Turn != 2 || added[1].Turn != 3 {
			t.Fatalf("%+v, %v", added, err)
		}
		got := added[1]
		check.Equal(t, "the reply", got.ReplySeq, 1)
		check.Equal(t, "quote", got.Quote, "")
		if state := storetest.Load(t, c); state.Open != 0 || state.Next != 4 || !reflect.DeepEqual(state.Messages[1:], added) {
			t.Errorf("loaded %+v, want %+v", state, added)
		}
		if found, err := memory.Of(c).Recall(ctx, memory.Question{Text: "very first", Limit: 5, Before: store.MaxSeq}); err != nil || len(found) == 0 || found[0].Seq != 2 {
			t.Errorf("recalled %+v, %v", found, err)
		}
		if taken := storetest.Deliver(t, c); len(taken) != 2 || taken[0].Text != "overheard" || taken[1].Turn != 5 {
			t.Errorf("got dequeued %+v", taken)
		}
	})
	t.Run("a deleted message is not read back", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, "a"))
		storetest.DeliverOnly(t, c, storetest.Said(2, "b"))
		storetest.Remove(t, c, 1, 2)
		check.Len(t, "added", check.Must(c.Past().Backfill(ctx, []store.Inbound{storetest.Said(1, "a"), storetest.Said(2, "b")}, nil))(t), 0)
	})
}

func TestReplies(t *testing.T) {
	reply := func(n int, to string) store.Inbound {
		m := storetest.Said(n, "yes")
		m.ReplyTo, m.Quote = to, `Ann: "shall we…"`
		return m
	}
	t.Run("a reply knows the seq of its message, also within a burst", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, "shall we go?"))
		taken := storetest.Deliver(t, c, reply(2, "m1"), reply(3, "m2"))
		if taken[0].ReplySeq != 1 || taken[1].ReplySeq != 2 || taken[0].Quote != "" || taken[0].ReplyTo != "m1" {
			t.Errorf("got dequeued %+v", taken)
		}
		if page, err := c.Transcript().Page(ctx, 2, 9); err != nil || !reflect.DeepEqual(page, taken) {
			t.Errorf("stored %+v, %v", page, err)
		}
	})
	t.Run("a deleted message is not quoted, though its platform still does, and neither is one in a thread", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		channel, thread := storetest.Find(t, s, "discord:1/2"), storetest.Find(t, s, "discord:1/2/m1")
		storetest.Deliver(t, channel, storetest.Said(1, "shall we go?"))
		storetest.DeliverOnly(t, channel, storetest.Said(2, "or stay?"))
		storetest.Remove(t, channel, 1, 2)
		for _, c := range []*store.Conversation{channel, thread} {
			for i, m := range storetest.Deliver(t, c, reply(3, "m1"), reply(4, "m2"), reply(5, "m9")) {
				check.Equal(t, fmt.Sprintf("quote of reply %d in %s", i+1, c.Name()), m.Quote != "", i == 2)
			}
		}
	})
	t.Run("each piece of the bot's answer leads to its last message", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Asking(1, "what time is it?"))
		storetest.Finish(t, c, 1, 2, "reply-2", "half past", " nine")
		for row, id := range []string{"p1", "p2"} {
			check.NoError(t, c.Outbox().Sent(ctx, int64(row+1), id))
		}
		taken := storetest.Deliver(t, c, reply(2, "p1"), reply(3, "p2"), reply(4, "p3"), reply(5, ""))
		for i, want := range []int64{2, 2, 0, 0} {
			check.Equal(t, fmt.Sprintf("message %d replies", i+2), taken[i].ReplySeq, want)
		}
	})
	t.Run("a reply to a notice keeps its quote", func(t *testing.T) {
		c := storetest.NewConversation(t)
		check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "reply-1", Pieces: []string{"sorry"}}))
		check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
		if taken := storetest.Deliver(t, c, reply(1, "p1")); taken[0].ReplySeq != 0 || taken[0].Quote == "" {
			t.Errorf("got dequeued %+v", taken)
		}
	})
}

func TestIncompleteMessageDoesNotQuoteDeletedMessage(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "the secret is swordfish"))
	reply := storetest.Said(2, "really?")
	reply.ReplyTo, reply.Quote, reply.Incomplete = "m1", `Bob: "the secret is swordfish"`, true
	check.Must(c.Inbox().Deliver(ctx, reply))(t)
	was, err := c.Inbox().Incomplete(ctx) // and the connector is asked for the rest
	if err != nil || len(was) != 1 {
		t.Fatal(was, err)
	}
	storetest.Remove(t, c, 1)
	full := was[0]
	full.Author = "Ann Smith"
	check.NoError(t, c.Inbox().Complete(ctx, was[0], full))
	storetest.Deliver(t, c)
	check.Lacks(t, "the deleted text is back as a quote", storetest.Dump(t, c.Store()), "swordfish")
}

func TestRedeliveryAddsFiles(t *testing.T) {
	c := storetest.NewConversation(t)
	m := storetest.Said(1, "look")
	check.Must(c.Inbox().Deliver(ctx, m))(t)
	m.Attachments = []chat.Attachment{{Kind: "file", Name: "a.txt", Size: 3}}
	m.Incomplete = true
	for range 2 {
		check.Must(c.Inbox().Deliver(ctx, m))(t)
	}
	waiting := check.Must(c.Inbox().Incomplete(ctx))(t)
	check.Len(t, "waiting", waiting, 1)
	check.Len(t, "waiting[0].Attachments", waiting[0].Attachments, 1)
}

func TestOutOfOrderRedeliveryIsSorted(t *testing.T) {
	c := storetest.NewConversation(t)
	for _, n := range []int{3, 1, 2} {
		check.Must(c.Inbox().Deliver(ctx, storetest.Said(n, "x")))(t)
	}
	check.NoError(t, c.Past().SetGap(ctx, "m0"))
	check.Must(c.Past().FillGap(ctx, []store.Inbound{storetest.Said(1, "x"), storetest.Said(2, "x")}, "m2", true))(t)
	taken, err := c.Inbox().Dequeue(ctx, store.All, 1000, time.Time{})
	for i, m := range taken {
		check.Equal(t, fmt.Sprintf("message %d", i), m.ID, storetest.Said(i+1, "x").ID)
	}
	check.NoError(t, err)
	check.Len(t, "dequeued", taken, 3)
}
