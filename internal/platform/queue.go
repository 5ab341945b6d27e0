package platform

import (
	"context"
	"slices"
	"sync"
)

const (
	maxWaiting = 10_000 // per key; bursts are far smaller: this many wait only if nothing can be stored
	maxBatch   = 200
)

// KeyedQueue runs work in order for each key, and in parallel for different keys. A key has a
// goroutine only while it has work.
type KeyedQueue[T any] struct {
	Group *Group
	Do    func(batch []T) // called with the oldest work of a key, at least one item

	mu      sync.Mutex // guards waiting
	waiting map[string][]T
}

// CallEach is the Do of a queue of functions.
func CallEach(batch []func()) {
	for _, call := range batch {
		call()
	}
}

// Add appends work to the queue of key. It never blocks, and returns false if the group is closed.
func (q *KeyedQueue[T]) Add(key string, work T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.addLocked(key, work)
}

// Offer is Add, but also returns false if the queue of key is full.
func (q *KeyedQueue[T]) Offer(key string, work T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting[key]) < maxWaiting && q.addLocked(key, work)
}

func (q *KeyedQueue[T]) addLocked(key string, work T) bool {
	queue, busy := q.waiting[key]
	if !busy && !q.Group.Start(func(context.Context) { q.run(key) }) {
		return false
	}
	if q.waiting == nil {
		q.waiting = make(map[string][]T)
	}
	q.waiting[key] = append(queue, work)
	return true
}

func (q *KeyedQueue[T]) run(key string) {
	for batch := q.next(key); len(batch) > 0; batch = q.next(key) {
		q.Do(batch)
	}
}

// next removes and returns the oldest work of a key; it removes a key without work.
func (q *KeyedQueue[T]) next(key string) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.waiting[key]
	if len(queue) == 0 {
		delete(q.waiting, key)
		return nil
	}
	n := min(len(queue), maxBatch)
	q.waiting[key] = queue[n:]
	return queue[:n:n]
}

// Group owns the goroutines of a connector while it runs.
type Group struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards everything below, and that nothing starts after Close
	ctx     context.Context
	closed  bool
	waiting []starting // for Open
}

// starting is a goroutine of a stream, waiting for its group.
type starting struct {
	s  *Stream
	do func(ctx context.Context)
}

// Open allows goroutines to start, with ctx. It returns false if the group was opened before.
func (g *Group) Open(ctx context.Context) bool {
	g.mu.Lock()
	first, waiting := g.ctx == nil, g.waiting
	if first {
		g.ctx, g.waiting = ctx, nil
	}
	g.mu.Unlock()
	if !first {
		return false
	}
	for _, w := range waiting {
		w.s.startNow(w.do)
	}
	return true
}

// postpone queues a goroutine of a stream until the group is opened; it returns false if the group
// is open. It drops the entries of streams that have ended, because a group may never open.
func (g *Group) postpone(s *Stream, do func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx != nil {
		return false
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(w starting) bool { return w.s.Live.Err() != nil })
	g.waiting = append(g.waiting, starting{s, do})
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

// Context returns the context of the goroutines; a canceled one if the group was never opened.
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

// Close prevents further goroutines from starting, and waits for the running ones.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
