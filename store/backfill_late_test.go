package store_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

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
