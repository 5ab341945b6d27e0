// Work in lanes: in order within a lane, side by side between lanes.

package slack

import "sync"

// maxWaiting bounds what waits in one lane. Slack sends again what is not taken.
const maxWaiting = 10_000

// lanes runs functions. A lane has a goroutine only while it has work.
type lanes struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards waiting
	waiting map[string][]func()
}

func newLanes() *lanes { return &lanes{waiting: make(map[string][]func())} }

// add queues do behind what waits in its lane. It never waits, and returns false if
// too much waits already.
func (l *lanes) add(lane string, do func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.waiting[lane]
	if len(queue) >= maxWaiting {
		return false
	}
	l.waiting[lane] = append(queue, do)
	if !busy {
		l.running.Go(func() { l.run(lane) })
	}
	return true
}

func (l *lanes) run(lane string) {
	for {
		do := l.next(lane)
		if do == nil {
			return
		}
		do()
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
	do := queue[0]
	queue[0] = nil
	l.waiting[lane] = queue[1:]
	return do
}

// wait returns when all lanes are empty.
func (l *lanes) wait() { l.running.Wait() }
