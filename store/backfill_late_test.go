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

func TestEarlierGapWins(t *testing.T) {
	c := storetest.NewConversation(t)
	m := storetest.Said(1, "one")
	m.ID = "10"
	storetest.Deliver(t, c, m)
	check.Must(c.Store().Away(ctx, "terminal", nil))(t)
	// The disk failed to store message 6 earlier; its connector wants it read again.
	check.NoError(t, c.Past().SetGap(ctx, "5"))
	after, _, err := c.Past().Gap(ctx)
	check.Equal(t, "start of the gap", after, "5")
	check.NoError(t, err)
}

func TestSecondEditInSameSecond(t *testing.T) {
	for _, waits := range []bool{true, false} {
		c := storetest.NewConversation(t)
		check.Must(c.Inbox().Deliver(ctx, storetest.Said(1, "ab")))(t)
		if !waits {
			storetest.Deliver(t, c)
		}
		for _, text := range []string{"abc", "abcd"} { // Slack reports the time of an edit only to the second
			m := storetest.Said(1, text)
			m.Time = storetest.Day.Add(time.Hour)
			if _, _, err := c.Transcript().Edit(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if waits {
			storetest.Deliver(t, c)
		}
		check.Equal(t, fmt.Sprintf("got waiting %v", waits), check.Must(c.Transcript().Message(ctx, 1))(t).Text, "abcd")
	}
}

func TestConnectorGapStaysOpen(t *testing.T) {
	c := storetest.NewConversation(t)
	if _, err := c.Store().Away(ctx, "terminal", nil); err != nil { // nothing is known: ""
		t.Fatal(err)
	}
	after, open, err := c.Past().Gap(ctx) // as fillGap
	if err != nil || !open || after != "" {
		t.Fatal(after, open, err)
	}
	if err := c.Past().SetGap(ctx, "5"); err != nil { // as Hub.CatchUp does in the meantime
		t.Fatal(err)
	}
	if err := c.Past().CloseGap(ctx, ""); err != nil { // as fillGap goes on
		t.Fatal(err)
	}
	if after, open, _ := c.Past().Gap(ctx); !open {
		t.Errorf("the gap after 5 is gone (%q %v)", after, open)
	}
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
