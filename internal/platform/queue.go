package platform

import (
	"context"
	"errors"
	"sync"
	"time"

	"cairn/channel"
)

const (
	maxWaiting = 10_000 // items per key that Offer accepts; only a flood reaches it, or a disk that takes nothing
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
// goroutine yet and the group's context has ended.
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

// Store repeats a call to the hub until it succeeds or is refused, and then returns true, or until ctx
// or the hub has ended. The queue of that channel waits until then, which keeps its messages in order.
func Store(ctx context.Context, incident *Incident, call func() error) (stored bool) {
	Retry(ctx, Backoff{First: time.Second, Most: time.Minute}, func() (done bool) {
		err := call()
		stored = err == nil || errors.Is(err, channel.ErrRefused)
		switch {
		case err == nil:
			incident.End()
		case stored, errors.Is(err, channel.ErrClosed), ctx.Err() != nil:
			return true
		default:
			incident.Begin(err)
		}
		return stored
	})
	return stored
}

// Group owns the goroutines of a connector.
type Group struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	opened  chan struct{}
	running sync.WaitGroup

	mu sync.Mutex // makes sure that nothing starts after Close
}

// NewGroup returns a group without goroutines.
func NewGroup() *Group {
	g := &Group{opened: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// Open reports that the connector runs, once, and makes the context of the goroutines end with ctx.
func (g *Group) Open(ctx context.Context) {
	context.AfterFunc(ctx, func() { g.Cancel(ctx.Err()) })
	close(g.opened)
}

// Opened is closed by Open.
func (g *Group) Opened() <-chan struct{} { return g.opened }

// Wait waits until the group is open. It returns ctx's error if ctx ends first.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start runs f in a goroutine. It returns false if the group's context has ended.
func (g *Group) Start(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.running.Go(func() { f(g.ctx) })
	return true
}

// Context returns the context of the goroutines.
func (g *Group) Context() context.Context { return g.ctx }

// Cancel ends the context of the goroutines.
func (g *Group) Cancel(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel(cause)
}

// Close ends the goroutines and waits for them.
func (g *Group) Close() {
	g.Cancel(nil)
	g.running.Wait()
}
