// Work in lanes: in order within a lane, side by side between lanes.
package terminal

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// maxWaiting bounds what waits in all lanes together, in bytes of input.
const maxWaiting = 64 << 20

// lanes runs functions. A lane has a goroutine only while it has work.
type lanes struct {
	room    *semaphore.Weighted
	running sync.WaitGroup

	mu      sync.Mutex // guards waiting
	waiting map[string][]func()
}

func newLanes() *lanes {
	return &lanes{room: semaphore.NewWeighted(maxWaiting), waiting: make(map[string][]func())}
}

// add queues do behind what waits in its lane. It waits itself only while too much
// input waits already; the error is ctx's.
func (l *lanes) add(ctx context.Context, lane string, size int, do func()) error {
	weight := int64(size) + 1<<10
	if err := l.room.Acquire(ctx, weight); err != nil {
		return err
	}
	work := func() {
		defer l.room.Release(weight)
		do()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.waiting[lane]
	l.waiting[lane] = append(queue, work)
	if !busy {
		l.running.Go(func() { l.run(lane) })
	}
	return nil
}

func (l *lanes) run(lane string) {
	for {
		work := l.next(lane)
		if work == nil {
			return
		}
		work()
	}
}

// next takes the oldest work of a lane, or closes the lane.
func (l *lanes) next(lane string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[lane]
	if len(queue) == 0 {
		delete(l.waiting, lane)
		return nil
	}
	l.waiting[lane] = queue[1:]
	return queue[0]
}

// wait returns when all lanes are empty.
func (l *lanes) wait() { l.running.Wait() }
