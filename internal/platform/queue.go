package platform

import (
	"context"
	"slices"
	"sync"
)

const (
	maxWaiting = 10_000 // items per key; bursts are far smaller, so the limit is reached only while nothing can be stored
	maxBatch   = 200    // items per call of Do
)

// KeyedQueue runs the work of each key in order, and different keys in parallel. A key has a
// goroutine only while it has work.
type KeyedQueue[T any] struct {
	Group *Group
	Do    func(batch []T) // called with the oldest items of one key, at least one

	mu      sync.Mutex // guards waiting
	waiting map[string][]T
}

// CallEach calls the functions in order. It is the Do of a queue of functions.
func CallEach(batch []func()) {
	for _, call := range batch {
		call()
	}
}

// Add appends work to the queue of key. It never blocks, and returns false if the key has no
// goroutine yet and the group is not open.
func (q *KeyedQueue[T]) Add(key string, work T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.addLocked(key, work)
}

// Offer is like Add, but also returns false if the queue of key is full.
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

// next removes and returns the oldest items of a key. If there are none it deletes the key, because
// its goroutine is about to end.
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

	mu      sync.Mutex // guards everything below, and makes sure that nothing starts after Close
	ctx     context.Context
	closed  bool
	waiting []starting // started by Open
}

// starting is a goroutine of a stream that starts when the group is opened.
type starting struct {
	s  *Stream
	do func(ctx context.Context)
}

// Open allows goroutines to start and gives them ctx. It returns false if the group was opened
// before.
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

// postpone queues a goroutine of a stream until Open; it returns false if the group has been
// opened. It drops the entries of streams that have ended, because the group may never be opened.
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

// Start runs f in a goroutine. It returns false if the group is not open, or its context has ended.
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

// Context returns the context of the goroutines, or a canceled one if the group is not opened yet.
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

// Close lets no more goroutines start, and waits for the running ones.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
