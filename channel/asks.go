package channel

import (
	"context"
	"time"
)

// What commands want done by the conversation's owner, who alone may bring messages
// back into what the model is shown.

// ownerPatience is how long a command waits for the owner, who may be in the middle
// of an answer, until whoever ran it is told that it takes a while.
const ownerPatience = 2 * time.Second

// byOwner has the owner run f as soon as it may, between two steps of what it is at.
// done is closed behind it.
func (c *conversation) byOwner(f func(ctx context.Context)) (done <-chan struct{}) {
	ready := make(chan struct{})
	c.mu.Lock()
	c.asks = append(c.asks, func(ctx context.Context) {
		defer close(ready)
		f(ctx)
	})
	c.mu.Unlock()
	c.wake()
	return ready
}

// await waits for done, at most so long; soon is false if that is not enough.
func (c *conversation) await(ctx context.Context, done <-chan struct{}, most time.Duration) (soon bool, err error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-c.hub.ctx.Done():
		return false, ErrClosed
	}
}

// serve runs what was asked for.
func (c *conversation) serve(ctx context.Context) {
	c.mu.Lock()
	asks := c.asks
	c.asks = nil
	c.mu.Unlock()
	for _, f := range asks {
		f(ctx)
	}
	if len(asks) > 0 {
		c.engine.Check(ctx)
	}
}
