package channel

import (
	"context"
	"time"

	"cairn/compactor"
)

// How others wake a conversation's owner, and wait for what it does.

// wake tells the owner to look again. It never waits.
func (c *conversation) wake() {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default: // it will look anyway
	}
}

// try begins a try, and returns the wakes it knows of. Until settleUp what the last one
// came to no longer holds.
func (c *conversation) try() (asked int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried = 0
	return c.asked
}

// settleUp notes that everything asked for up to then is done, or why it is not.
func (c *conversation) settleUp(asked int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried, c.err = asked, err; err == nil {
		c.settled = max(c.settled, asked)
	}
	c.changedLocked()
}

func (c *conversation) changedLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// quiet reports whether the conversation may leave memory. It is the loop's.
func (c *conversation) quiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled >= c.asked && time.Until(c.gapRest) <= 0 && c.sender.idle() && (c.engine == nil || !c.engine.Busy() && c.engine.Wake().IsZero())
}

// settle returns when all that was asked so far is done and sent, or with the
// error for which it cannot be done now. What is on disk is tried again all the same.
func (c *conversation) settle(ctx context.Context) error {
	c.mu.Lock()
	asked := c.asked
	c.mu.Unlock()
	err := c.wait(ctx, func() (bool, error) {
		if c.tried < asked {
			return c.settled >= asked, nil
		}
		return c.settled >= asked, c.err
	})
	if err != nil {
		return err
	}
	return c.sender.settle(ctx)
}

// wait returns when done, asked under the lock each time something has changed,
// is true or an error.
func (c *conversation) wait(ctx context.Context, done func() (bool, error)) error {
	for {
		c.mu.Lock()
		ok, err := done()
		changed := c.changed
		c.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.hub.ctx.Done():
			return ErrClosed
		}
	}
}

func (c *conversation) drain(ctx context.Context) error {
	select {
	case <-c.opened:
	default:
		return nil // never opened: nothing runs
	}
	if err := c.tryDo((*compactor.Compactor).Drain); err != nil {
		return err
	}
	return c.wait(ctx, func() (bool, error) { return !c.busy, nil })
}
