package channel

import (
	"context"
	"time"

	"cairn/compactor"
)

// How children of a conversation's loop, and commands, reach the engine: the loop runs what
// they want done between two of its steps.

// tryDo has the loop run f and waits until it has, or for the end of the loop. It must not be
// called by the loop itself, and f must not wait.
func (c *conversation) tryDo(f func(e *compactor.Compactor)) error {
	var panicked any
	done := make(chan struct{})
	call := func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f(c.engine)
	}
	select {
	case c.calls <- call:
	case <-c.ended:
		return ErrClosed
	}
	if <-done; panicked != nil {
		panic(panicked) // it is the caller's
	}
	return nil
}

// do is tryDo for children, which the loop waits for.
func (c *conversation) do(f func(e *compactor.Compactor)) {
	if err := c.tryDo(f); err != nil {
		panic(err)
	}
}

// ask is do for a value.
func ask[T any](c *conversation, f func(e *compactor.Compactor) T) (v T) {
	c.do(func(e *compactor.Compactor) { v = f(e) })
	return v
}

func (c *conversation) answered() {
	c.do(func(e *compactor.Compactor) { e.History().Answered() })
}

func (c *conversation) check() {
	c.do(func(e *compactor.Compactor) { e.Check(c.hub.ctx) })
}

func (c *conversation) next() int64 {
	return ask(c, func(e *compactor.Compactor) int64 { return e.History().Next() })
}

// append shows messages that are on disk.
func (c *conversation) append(messages []compactor.Message) {
	c.do(func(e *compactor.Compactor) {
		e.History().Append(messages...)
		e.History().Stored()
	})
}

// start runs slow work of the engine in a child, see compactor.Options.
func (c *conversation) start(slow func() (finish func())) {
	go func() { c.finished <- slow() }()
}

// publish shows everybody how the engine stands. It is the loop's.
func (c *conversation) publish() {
	gauge := c.engine.Reading()
	c.gauge.Store(&gauge)
	busy := c.engine.Busy()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy != busy {
		c.busy = busy
		c.changedLocked()
	}
}

// awhile is how long a command waits for what it began, until its author is told that
// it takes a while.
const awhile = 2 * time.Second

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
