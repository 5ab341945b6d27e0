package platform

import (
	"context"
	"sync"
)

// Group is the goroutines that a connector owns while it runs.
type Group struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards ctx and closed, and that nothing starts after Close
	ctx    context.Context
	closed bool
}

// Open allows work, which ends with ctx. It does so once.
func (g *Group) Open(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx != nil {
		return false
	}
	g.ctx = ctx
	return true
}

// Start runs f, unless the group is not open; then it returns false.
func (g *Group) Start(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.closed || g.ctx.Err() != nil {
		return false
	}
	ctx := g.ctx
	g.running.Go(func() { f(ctx) })
	return true
}

// Context is that of the work; it has ended if the group was never opened.
func (g *Group) Context() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		return ended
	}
	return g.ctx
}

// Close waits for all that was started; nothing starts any more.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
