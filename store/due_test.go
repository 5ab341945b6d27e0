package store_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// Due work of a conversation is reported for it alone, and only until it is done.
func TestDue(t *testing.T) {
	c := storetest.NewConversation(t)
	other := storetest.Find(t, c.Store(), "terminal:other")
	want := func(what string, is store.Due) {
		t.Helper()
		check.Equal(t, what, check.Must(c.Inbox().Due(ctx))(t), is)
	}
	want("at the start", store.Due{})
	for n, in := range []*store.Conversation{other, c, c, other} {
		m := storetest.Said(n+1, "hello")
		m.Incomplete = n == 2 || n == 3
		check.Must(in.Inbox().Deliver(ctx, m))(t)
	}
	want("with two messages, one of them incomplete", store.Due{Waiting: 2, Last: 3, Incomplete: true})
	check.NoError(t, c.Past().SetGap(ctx, "m1"))
	if _, _, err := c.Compactions().WantSession(ctx); err != nil {
		t.Fatal(err)
	}
	want("with a gap and a wanted session too", store.Due{Waiting: 2, Last: 3, Incomplete: true, Gap: true, Session: true})
	check.NoError(t, c.Past().CloseGap(ctx, "m1"))
	storetest.Deliver(t, c)
	want("with the first taken up", store.Due{Waiting: 1, Last: 3, Incomplete: true, Session: true})
}
