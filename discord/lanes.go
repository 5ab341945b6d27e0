// Work in lanes: in order within a channel, side by side between channels.

package discord

import "sync"

// maxLane is how many messages may wait in a lane. A burst is far smaller; more wait
// only while the disk does not take them.
const maxLane = 10_000

// lanes run work: in order within a lane, side by side between lanes. A lane has a
// goroutine only while it has work. There is one for each of Discord's channels.
type lanes struct {
	mu      sync.Mutex // guards waiting
	waiting map[string]*lane
}

type lane struct {
	queue []func()
	full  bool // messages are left to be read from history
}

func newLanes() *lanes { return &lanes{waiting: make(map[string]*lane)} }

// add queues work behind what waits in its lane. begin starts the lane's goroutine,
// and reports whether it did.
func (l *lanes) add(name string, begin func(func()) bool, work func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(name, begin, work)
}

// offer does the same for a message, unless too many wait: then it queues instead,
// once, which has the messages read from history, and leaves out all that follow
// until that is done.
func (l *lanes) offer(name string, begin func(func()) bool, work, instead func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch in := l.waiting[name]; {
	case in == nil || !in.full && len(in.queue) < maxLane:
		l.addLocked(name, begin, work)
	case !in.full:
		in.full = true
		in.queue = append(in.queue, func() {
			l.mu.Lock()
			in.full = false
			l.mu.Unlock()
			instead()
		})
	}
}

func (l *lanes) addLocked(name string, begin func(func()) bool, work func()) {
	if in := l.waiting[name]; in != nil {
		in.queue = append(in.queue, work)
		return
	}
	l.waiting[name] = &lane{queue: []func(){work}}
	if !begin(func() { l.run(name) }) {
		delete(l.waiting, name)
	}
}

func (l *lanes) run(name string) {
	for {
		work := l.next(name)
		if work == nil {
			return
		}
		work()
	}
}

// next takes the oldest work of a lane, or closes the lane.
func (l *lanes) next(name string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.waiting[name]
	if len(in.queue) == 0 {
		delete(l.waiting, name)
		return nil
	}
	work := in.queue[0]
	in.queue[0] = nil
	in.queue = in.queue[1:]
	return work
}
