package channel

import (
	"context"
	"time"
)

// The loop of a conversation: it owns the engine, and starts the child that works.

// retryDelay is how long a conversation waits before it tries again what the disk refused.
const retryDelay = 5 * time.Second

// own runs the conversation until the hub closes, or until it has been silent for
// long and leaves memory.
func (c *conversation) own() {
	defer c.close()
	defer close(c.ended)
	silence := time.NewTimer(c.hub.o.Idle)
	defer silence.Stop()
	var retry, due <-chan time.Time
	var dueAt time.Time
	stop := c.hub.ctx.Done()
	working := c.goWork()
	for working || stop != nil || c.engine != nil && c.engine.Busy() {
		signal, silent := c.signal, silence.C
		if working || stop == nil {
			signal, silent, retry = nil, nil, nil
		}
		select {
		case <-signal:
			working = c.goWork()
		case <-retry:
			working = c.goWork()
		case <-silent:
			if c.quiet() && c.hub.forget(c) {
				return
			}
			working = c.goWork()
		case err := <-c.worked:
			if working = false; err != nil {
				retry = time.After(retryDelay)
			} else if rest := time.Until(c.gapRest); rest > 0 {
				retry = time.After(rest)
			}
			silence.Reset(c.hub.o.Idle)
		case f := <-c.calls:
			f()
		case finish := <-c.finished:
			finish()
		case <-due:
			c.engine.Proceed()
		case <-stop:
			if stop = nil; c.engine != nil {
				c.engine.Close()
			}
		}
		if c.engine == nil {
			continue
		}
		if at := c.engine.Wake(); at != dueAt {
			if dueAt, due = at, nil; !at.IsZero() {
				due = time.After(time.Until(at))
			}
		}
		c.publish()
	}
}

// goWork starts the child that works.
func (c *conversation) goWork() (working bool) {
	go func() { c.worked <- c.attempt(c.hub.ctx) }()
	return true
}

// attempt does what there is to do, and notes what came of it.
func (c *conversation) attempt(ctx context.Context) error {
	asked, awaited := c.try(), c.awaits()
	err := c.work(ctx)
	c.unsettled = c.unsettled || err != nil
	if err != nil && ctx.Err() == nil {
		c.hub.stuck.is(ctx, c.log, c.name, err)
		c.stalled(ctx, awaited, err)
	} else if err == nil {
		c.hub.stuck.over(c.log, c.name)
		c.went(awaited)
	}
	c.settleUp(asked, err)
	return err
}

// close ends what belongs to the conversation, in reverse order.
func (c *conversation) close() {
	c.mu.Lock()
	c.left = true
	for _, timer := range c.ackTimers {
		timer.Stop()
	}
	c.mu.Unlock()
	c.sender.wait()
	c.reactions.Wait()
	c.flushLast()
}
