package store_test

import (
	"fmt"
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

// TestThreads: a step is a delivery ("say" or "ask" in the thread, "hm" where the bot considers every message,
// "outside" a question outside of threads), "stop", or "take" what waits.
func TestThreads(t *testing.T) {
	type step struct {
		do        string
		n         int
		addressed bool // what the delivery, or the last message taken up, says
	}
	for _, test := range []struct {
		claim     string
		steps     []step
		following bool
	}{
		{"after a mention in a thread, all its messages are addressed", []step{{"say", 1, false}, {"ask", 2, true}, {"say", 3, true}, {"hm", 4, true}, {"take", 4, true}}, true},
		{"optional messages, or ones outside threads, start no following", []step{{"hm", 1, true}, {"outside", 2, true}, {"say", 3, false}}, false},
		{"after /stop only a new mention starts following again", []step{{"ask", 1, true}, {"stop", 0, false}, {"ask", 1, true}, {"take", 1, true}, {"ask", 1, true}, {"say", 2, false}}, false},
		{"a new mention after /stop starts following again", []step{{"ask", 1, true}, {"stop", 0, false}, {"ask", 2, true}, {"say", 3, true}}, true},
		{"what waits since before /stop is answered only if it addresses the bot", []step{{"ask", 1, true}, {"say", 2, true}, {"say", 2, true}, {"stop", 0, false}, {"take", 2, false}}, false},
		{"a mention delivered after the plain message starts following", []step{{"say", 1, false}, {"ask", 1, true}}, true},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := storetest.NewConversation(t)
			for i, s := range test.steps {
				m := inThread(s.n, s.do != "say")
				m.Optional, m.Thread = s.do == "hm", s.do != "outside"
				addressed := s.addressed
				switch s.do {
				case "stop":
					check.NoError(t, c.Settings().Follow(ctx, false))
				case "take":
					taken := storetest.Deliver(t, c)
					addressed = taken[len(taken)-1].Addressed && !taken[len(taken)-1].Optional
				default:
					addressed = check.Must(c.Inbox().Deliver(ctx, m))(t).Addressed
				}
				check.Equal(t, fmt.Sprintf("step %d, %s: addressed", i+1, s.do), addressed, s.addressed)
			}
			check.Equal(t, "following", check.Must(c.Settings().Following(ctx))(t), test.following)
			check.Equal(t, "following elsewhere", check.Must(storetest.Find(t, c.Store(), "terminal:other").Settings().Following(ctx))(t), false)
		})
	}
	t.Run("outside of threads nothing is addressed by itself", func(t *testing.T) {
		c := storetest.NewConversation(t)
		check.NoError(t, c.Settings().Follow(ctx, true))
		check.Equal(t, "addressed", check.Must(c.Inbox().Deliver(ctx, storetest.Said(1, "hello")))(t).Addressed, false)
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
