package platform

import (
	"context"
	"sync"
)

// Group owns the goroutines of a connector while it runs.
type Group struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards ctx and closed, and that nothing starts after Close
	ctx    context.Context
	closed bool
}

// Open lets goroutines start, with ctx. It returns false if the group was opened before.
func (g *Group) Open(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx != nil {
		return false
	}
	g.ctx = ctx
	return true
}

// Start runs f in a goroutine; it returns false if the group is not open.
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

// Context is the context of the goroutines; a canceled one if the group was never opened.
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

// Close lets no goroutine start any more, and waits for those that run.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
