package memory

import (
	"testing"

	"cairn/internal/check"
)

// What a conversation has to see to is told for it alone, and no longer than it is to do.
func TestDue(t *testing.T) {
	c := newConversation(t)
	other := find(t, c.store, "terminal:other")
	want := func(what string, is Due) {
		t.Helper()
		if got, err := c.Inbox().Due(ctx); err != nil || got != is {
			t.Errorf("%s: %+v, %v, want %+v", what, got, err, is)
		}
	}
	want("at the start", Due{})
	for n, in := range []*Conversation{other, c, c, other} {
		m := said(n+1, "hello")
		m.Incomplete = n == 2 || n == 3
		check.Must(in.Inbox().Deliver(ctx, m))(t)
	}
	want("with two messages, one of them incomplete", Due{Waiting: 2, Last: 3, Incomplete: true})
	check.NoError(t, c.Past().SetGap(ctx, "m1"))
	if _, _, err := c.Compactions().WantSession(ctx); err != nil {
		t.Fatal(err)
	}
	want("with a gap and a wanted session too", Due{Waiting: 2, Last: 3, Incomplete: true, Gap: true, Session: true})
	check.NoError(t, c.Past().CloseGap(ctx, "m1"))
	deliver(t, c)
	want("with the first taken up", Due{Waiting: 1, Last: 3, Incomplete: true, Session: true})
}
