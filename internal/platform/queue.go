package platform

import (
	"context"
	"sync"
)

const maxBatch = 200 // items per call of Do

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

// Add appends work to the queue of key, unless the key has no goroutine yet and the group's context has ended.
// It never blocks.
func (q *KeyedQueue[T]) Add(key string, work T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, busy := q.waiting[key]
	if !busy && !q.Group.Start(func(context.Context) { q.run(key) }) {
		return
	}
	if q.waiting == nil {
		q.waiting = make(map[string][]T)
	}
	q.waiting[key] = append(queue, work)
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
