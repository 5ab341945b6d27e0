package platform

import (
	"context"
	"math"
	"sync"
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
func (q *KeyedQueue[T]) Add(key string, work T) bool { return q.add(key, work, math.MaxInt) }

// Offer is like Add, but also returns false if the queue of key is full.
func (q *KeyedQueue[T]) Offer(key string, work T) bool { return q.add(key, work, maxWaiting) }

func (q *KeyedQueue[T]) add(key string, work T, limit int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, busy := q.waiting[key]
	if len(queue) >= limit || !busy && !q.Group.Start(func(context.Context) { q.run(key) }) {
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
