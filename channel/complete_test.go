package channel_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/store"

	"cairn/channel"
)

// TestWhatKilledTheProcessIsGivenUp: a killed start leaves its tries on disk.
func TestWhatKilledTheProcessIsGivenUp(t *testing.T) {
	var mu sync.Mutex
	var active int
	var log []string // each request, and the other requests during it
	p := &platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
		mu.Lock()
		if active++; active > 1 {
			log = append(log, m.ID+" beside another")
		} else {
			log = append(log, m.ID)
		}
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // so that parallel requests, if any, would overlap with it
		mu.Lock()
		active--
		mu.Unlock()
		m.Text += ", completed"
		return m, nil
	}}
	missing := func(id string, age time.Duration, addressed bool) channel.Inbound {
		m := past(id, id, age, addressed)
		m.Incomplete = true
		return m
	}
	r := newRig(t, echo)
	c := must(r.store.Conversation(t.Context(), place))(t)
	killed := func(m ...store.Inbound) {
		t.Helper()
		noError(t, c.Inbox().Try(t.Context(), m))
		must(c.Inbox().TryPast(t.Context()))(t)
	}
	bad, innocent, other := missing("bad", 3*time.Minute, false), missing("innocent", 2*time.Minute, false), missing("other", time.Minute, true)
	for _, m := range []channel.Inbound{bad, innocent, other} {
		must(c.Inbox().Deliver(t.Context(), m))(t)
	}
	killed(bad, innocent, other) // all three together, then the bad one alone
	killed(bad)
	p.said = []channel.Inbound{missing("early", time.Hour, false), other}
	r.on(p)
	noError(t, r.hub.Recover(context.Background(), func(string) bool { return true }))
	r.idle()
	lines := r.transcript()
	for _, want := range []string{"user: early", "user: bad", "user: innocent, completed", "user: other, completed"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not in %q", want, lines)
		}
	}
	equal(t, "asked for", log, []string{"innocent", "other"})
	equal(t, "sent", r.connector.texts(), []string{"answer 1"})
}
