package channel

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// How a conversation handles a bug in its own code.

// guard runs a step of the loop. A panic ends neither the loop nor the program: the conversation is
// reloaded from storage.
func (c *conversation) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p)
		}
	}()
	f()
}

// panicked records a panic, on the loop; called from a deferred recover, it still sees the stack.
func (c *conversation) panicked(p any) {
	c.log.Error("conversation_panicked", "panic", p, "stack", string(debug.Stack()))
	c.runs.broken = true
	c.runs.panics++
	if c.engine != nil {
		c.engine.Close()
	}
}

// discard has the child reload the conversation.
func (c *conversation) discard() {
	c.runs.broken, c.runs.again, c.engine = false, false, nil
	c.runs.err = errPanicked
}

var errPanicked = errors.New("a bug: the conversation panicked, and is loaded again")

// delay returns how long to wait before a retry: longer with each panic.
func (r *runs) delay() time.Duration { return retryDelay << min(max(r.panics-1, 0), 6) }

// workGuarded is work; a panic becomes an error.
func (c *conversation) workGuarded(ctx context.Context, resume bool) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case any(ErrClosed):
			err = ErrClosed
		case any(errPanicked): // the loop has logged it
			err = errPanicked
		default:
			err = errPanicked
			c.log.Error("conversation_panicked", "panic", p, "stack", string(debug.Stack()))
			c.inbox.post(func() { c.runs.broken = true })
		}
	}()
	return c.work(ctx, resume)
}
