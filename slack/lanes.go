// Work in lanes: in order within a lane, side by side between lanes.
package slack

import "sync"

const (
	maxWaiting = 10_000 // what may wait in one lane; Slack sends again what is not taken
	maxBatch   = 200    // what is done at once
)

// lanes do work. A lane has a goroutine only while it has work.
type lanes[T any] struct {
	do      func(batch []T) // what waits in a lane, at least one, in order
	running sync.WaitGroup

	mu      sync.Mutex // guards waiting
	waiting map[string][]T
}

func newLanes[T any](do func(batch []T)) *lanes[T] {
	return &lanes[T]{do: do, waiting: make(map[string][]T)}
}

// add queues work behind what waits in its lane. It never waits, and returns false
// if too much waits already.
func (l *lanes[T]) add(lane string, work T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.waiting[lane]
	if len(queue) >= maxWaiting {
		return false
	}
	l.waiting[lane] = append(queue, work)
	if !busy {
		l.running.Go(func() { l.run(lane) })
	}
	return true
}

func (l *lanes[T]) run(lane string) {
	for {
		batch := l.next(lane)
		if len(batch) == 0 {
			return
		}
		l.do(batch)
	}
}

// next takes the oldest work of a lane, or closes the lane.
func (l *lanes[T]) next(lane string) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[lane]
	if len(queue) == 0 {
		delete(l.waiting, lane)
		return nil
	}
	n := min(len(queue), maxBatch)
	batch := queue[:n:n]
	l.waiting[lane] = queue[n:]
	return batch
}

// wait returns when all lanes are empty.
func (l *lanes[T]) wait() { l.running.Wait() }

// doAll is for lanes of functions.
func doAll(batch []func()) {
	for _, do := range batch {
		do()
	}
}
