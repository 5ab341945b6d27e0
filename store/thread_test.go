package store_test

import (
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func inThread(n int, addressed bool) store.Inbound {
	m := storetest.Said(n, "hello")
	m.Thread, m.Addressed = true, addressed
	return m
}

func receive(t *testing.T, c *store.Conversation, m store.Inbound) store.Receipt {
	t.Helper()
	r := check.Must(c.Inbox().Deliver(ctx, m))(t)
	return r
}

func wantFollowing(t *testing.T, c *store.Conversation, want bool) {
	t.Helper()
	check.Equal(t, "following", check.Must(c.Settings().Following(ctx))(t), want)
}

func TestThreads(t *testing.T) {
	t.Run("after a mention in a thread, all its messages are addressed", func(t *testing.T) {
		c := storetest.NewConversation(t)
		if r := receive(t, c, inThread(1, false)); r.Addressed {
			t.Error("following before a mention")
		}
		wantFollowing(t, c, false)
		receive(t, c, inThread(2, true))
		wantFollowing(t, c, true)
		for n, m := range []store.Inbound{inThread(3, false), inThread(4, false)} {
			m.Addressed, m.Optional = n == 1, n == 1 // also where the bot considers every message
			if r := receive(t, c, m); !r.Addressed || !r.Fresh {
				t.Errorf("%+v", r)
			}
		}
		var addressed []string
		for _, m := range storetest.Deliver(t, c) {
			if m.Addressed && !m.Optional {
				addressed = append(addressed, m.ID)
			}
		}
		check.EqualAll(t, "addressed", addressed, []string{"m2", "m3", "m4"})
	})
	t.Run("optional messages, or ones outside threads, start no following", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := inThread(1, true)
		m.Optional = true
		receive(t, c, m)
		m = inThread(2, true)
		m.Thread = false
		receive(t, c, m)
		wantFollowing(t, c, false)
	})
	t.Run("outside of threads nothing is addressed by itself", func(t *testing.T) {
		c := storetest.NewConversation(t)
		check.NoError(t, c.Settings().Follow(ctx, true))
		if r := receive(t, c, storetest.Said(1, "hello")); r.Addressed {
			t.Errorf("%+v", r)
		}
	})
}

func TestThreadFollowing(t *testing.T) {
	t.Run("after /stop only a new mention starts following again", func(t *testing.T) {
		c := storetest.NewConversation(t)
		receive(t, c, inThread(1, true))
		check.NoError(t, c.Settings().Follow(ctx, false))
		if r := receive(t, c, inThread(1, true)); r.Fresh || !r.Addressed {
			t.Errorf("redelivery while it waits: %+v", r)
		}
		storetest.Deliver(t, c)
		if r := receive(t, c, inThread(1, true)); r.Seq != 1 || !r.Addressed {
			t.Errorf("redelivery afterwards: %+v", r)
		}
		wantFollowing(t, c, false)
		if r := receive(t, c, inThread(2, false)); r.Addressed {
			t.Errorf("%+v", r)
		}
		receive(t, c, inThread(3, true))
		wantFollowing(t, c, true)
	})
	t.Run("what waits since before /stop is answered only if it addresses the bot", func(t *testing.T) {
		c := storetest.NewConversation(t)
		receive(t, c, inThread(1, true))
		for range 2 { // the platform repeats it
			if r := receive(t, c, inThread(2, false)); !r.Addressed {
				t.Errorf("before /stop: %+v", r)
			}
		}
		check.NoError(t, c.Settings().Follow(ctx, false))
		taken := storetest.Deliver(t, c)
		if !taken[0].Addressed || taken[1].Addressed || taken[1].Optional {
			t.Errorf("taken up: %+v", taken)
		}
	})
	t.Run("a mention delivered after the plain message starts following", func(t *testing.T) {
		c := storetest.NewConversation(t)
		receive(t, c, inThread(1, false))
		if r := receive(t, c, inThread(1, true)); r.Fresh || !r.Addressed {
			t.Errorf("%+v", r)
		}
		wantFollowing(t, c, true)
	})
	t.Run("following is per thread", func(t *testing.T) {
		c := storetest.NewConversation(t)
		receive(t, c, inThread(1, true))
		wantFollowing(t, storetest.Find(t, c.Store(), "terminal:other"), false)
	})
}

func TestUnaddressedTurnIsOptional(t *testing.T) {
	c := storetest.NewConversation(t)
	optional := func(n int) store.Inbound {
		m := storetest.Said(n, "hm")
		m.Addressed, m.Optional = true, true
		return m
	}
	asked := storetest.Asking(3, "you?")
	storetest.Deliver(t, c, optional(1), storetest.Said(2, "well"))
	if turn, _, err := c.Turns().Unanswered(ctx); err != nil || !turn.Optional {
		t.Errorf("%+v, %v", turn, err)
	}
	check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: 1}))
	storetest.Deliver(t, c, optional(4), asked)
	if turn, _, err := c.Turns().Unanswered(ctx); err != nil || turn.Optional || !slices.Equal(turn.To, []string{"m4", "m3"}) {
		t.Errorf("%+v, %v", turn, err)
	}
}
