package channel_test

import (
	"context"
	"testing"
	"time"

	"cairn/channel"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// Only what an earlier process may have started is looked for on the platform: each look costs a request.
func TestWhichRepliesMayHaveBeenStarted(t *testing.T) {
	r := newRig(t, echo)
	r.ask("hello")
	check.EqualAll(t, "an answer to a new message", r.connector.notFresh(), nil)
	crashDuringTurn(t, r)
	r.restart()
	r.waitForReplies()
	check.Len(t, "a turn that a crash interrupted", r.connector.notFresh(), 1)

	r.connector.note(func() { r.connector.failures = 1_000_000 })
	r.say("and now?", true)
	r.connector.until(t, "a failed send", func() bool { return r.connector.failures < 1_000_000 })
	r.stop()
	r.connector.note(func() { r.connector.failures = 0 })
	r.start()
	check.NoError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
	r.waitForReplies()
	check.Len(t, "and a stored reply", r.connector.notFresh(), 2)

	r.ask("once more")
	check.Len(t, "and another answer", r.connector.notFresh(), 2)
}

// notFresh are the replies for which an earlier process's traces were looked for.
func (d *connector) notFresh() (replies []string) {
	d.note(func() { replies = storetest.Map(d.mayBeOld, func(p channel.Piece) string { return p.Reply }) })
	return replies
}

// A stop does not wait for a look at what may have been sent, which may have to wait for the platform's limits. The piece stays.
func TestStopDoesNotWaitForLooks(t *testing.T) {
	for name, stop := range map[string]func(ctx context.Context, r *rig) error{
		"a process that is alone": func(ctx context.Context, r *rig) error { return channel.Settle(ctx, r.hub) },
		"one of several":          func(ctx context.Context, r *rig) error { return channel.FleetOf(r.hub).HandOver(ctx) },
	} {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			if name == "one of several" {
				r.opts.Lease = check.Must(r.store.Processes().Join(t.Context(), store.Process{Name: "host:1"}, time.Hour))(t)
				r.hub = nil // of which nothing runs
				r.hub = channel.New(r.opts)
			}
			r.connector.note(func() { r.connector.looks = true })
			r.say("hello", true)
			time.Sleep(time.Second)
			stopped := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			check.NoError(t, stop(ctx, r))
			r.opts.Lease = nil
			r.stop()
			check.Equal(t, name+" stopped after", time.Since(stopped), 0)
			r.connector.note(func() { r.connector.looks = false })
			r.start()
			check.NoError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
			r.waitForReplies()
			check.EqualAll(t, name+": sent", r.connector.texts(), []string{"answer 1"})
		})
	}
}
