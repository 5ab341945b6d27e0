// The goroutines of the door, so that Run can wait for all of them.

package discord

import (
	"context"
	"sync"
)

// group is the goroutines the door owns while it runs.
type group struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards ctx and closed, and that nothing starts after close
	ctx    context.Context
	closed bool
}

// open lets work begin, which ends with ctx. It does so once.
func (g *group) open(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx != nil {
		return false
	}
	g.ctx = ctx
	return true
}

// start runs f, unless the door is not open.
func (g *group) start(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.closed || g.ctx.Err() != nil {
		return false
	}
	ctx := g.ctx
	g.running.Go(func() { f(ctx) })
	return true
}

// lane starts work that has the group's context itself.
func (g *group) lane(f func()) bool { return g.start(func(context.Context) { f() }) }

// context is that of the work, ended if the door was never opened.
func (g *group) context() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		return ended
	}
	return g.ctx
}

// close waits for all that was started; nothing starts any more.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
