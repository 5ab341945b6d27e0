package channel

import (
	"errors"
	"log/slog"
	"testing"

	"cairn/testkit/check"
)

// A bug in what waits for the loop ends that wait alone, and the conversation is loaded again.
func TestWaiterThatPanics(t *testing.T) {
	c := &conversation{
		site: &site{log: slog.New(slog.DiscardHandler)},
		loop: loop{life: t.Context(), inbox: inbox{signal: make(chan struct{}, 1)}},
	}
	wait := func(done func() (bool, error)) <-chan error {
		result := make(chan error, 1)
		go func() { result <- c.await(t.Context(), func() {}, done) }()
		<-c.inbox.signal
		c.inbox.run(c.handle)
		return result
	}
	broken := wait(func() (bool, error) { panic("a bug") })
	sound := wait(func() (bool, error) { return true, nil })
	c.askWaiters()
	check.That(t, errors.Is(<-broken, errPanicked), "the wait that panics does not say so")
	check.NoError(t, <-sound)
	check.That(t, c.runs.broken, "the conversation is not loaded again")
	check.Len(t, "waiters", c.runs.waiters, 0)
	check.Equal(t, "signals to the loop", len(c.inbox.signal), 1)
}
