package store_test

import (
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestWantedSessions(t *testing.T) {
	want := func(t *testing.T, c *store.Conversation, wanted, later bool) {
		t.Helper()
		if w, l, err := c.Compactions().WantSession(ctx); err != nil || w != wanted || l != later {
			t.Errorf("wanted %v, later %v, %v", w, l, err)
		}
	}
	due := func(t *testing.T, c *store.Conversation, want bool) {
		t.Helper()
		check.Equal(t, "answer", check.Must(c.Compactions().SessionDue(ctx))(t), want)
	}
	takeUp := func(t *testing.T, c *store.Conversation) (ids []string) {
		t.Helper()
		taken := check.Must(c.Inbox().Dequeue(ctx, store.All, 1<<30, time.Time{}))(t)
		for _, m := range taken {
			ids = append(ids, m.ID)
		}
		return ids
	}
	t.Run("waiting messages belong to the old session, later ones to the new", func(t *testing.T) {
		c := storetest.NewConversation(t)
		want(t, c, false, false) // there are no messages
		storetest.DeliverOnly(t, c, storetest.Said(1, "before"))
		want(t, c, true, true)
		want(t, c, false, true) // there are no new messages
		storetest.DeliverOnly(t, c, storetest.Said(2, "between"))
		want(t, c, true, true)
		storetest.DeliverOnly(t, c, storetest.Said(3, "after"))
		for i, id := range []string{"m1", "m2"} {
			due(t, c, false)
			if got := takeUp(t, c); !slices.Equal(got, []string{id}) {
				t.Fatalf("got dequeued %v", got)
			}
			if got := takeUp(t, c); len(got) > 0 {
				t.Fatalf("dequeued before the session has ended: %v", got)
			}
			due(t, c, true)
			if head, started := startSession(t, c); !started || head.Start != int64(i+2) {
				t.Fatalf("got session start %d", head.Start)
			}
		}
		due(t, c, false)
		check.EqualAll(t, "dequeued", takeUp(t, c), []string{"m3"})
		wantSessions(t, c, "1-1 [placeholder emergency 1-1] unsettled; 2-2 [placeholder emergency 2-2] unsettled")
	})
	t.Run("a request survives the process, and marks the conversation unfinished", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, "before"))
		want(t, c, true, false)
		c = reopen(t, c)
		check.EqualAll(t, "unfinished", check.Must(c.Store().Unfinished(ctx))(t), []string{c.Name()})
		due(t, c, true)
		startSession(t, c)
		due(t, c, false)
	})
	t.Run("missed messages from before /new belong to the old session", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, "known"))
		check.NoError(t, c.Past().SetGap(ctx, "m1"))
		storetest.DeliverOnly(t, c, storetest.Said(4, "before"))
		want(t, c, true, true)
		late := storetest.Said(5, "after")
		late.Time = time.Now().Add(time.Hour)
		storetest.DeliverOnly(t, c, late)
		check.Must(c.Past().FillGap(ctx, []store.Inbound{storetest.Said(2, "missed"), storetest.Said(3, "missed too")}, "m3", true))(t)
		check.EqualAll(t, "dequeued", takeUp(t, c), []string{"m2", "m3", "m4"})
		due(t, c, true)
	})
}
