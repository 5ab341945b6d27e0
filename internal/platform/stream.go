// A reply that people see while it is written.

package platform

import (
	"context"
	"sync"
	"time"
)

// Stream shows a reply until it is sent: one goroutine shows that the bot is at work, another the
// newest text. They run in a group, as soon as that is open: a reply that an earlier process began may
// begin anew before the connector runs.
type Stream struct {
	Live context.Context // ends with the stream, for what need not be finished

	group         *Group
	working, show func(ctx context.Context)
	showing       bool // of the goroutine that calls Show
	end           context.CancelFunc
	running       sync.WaitGroup
	changed       chan struct{} // has one when there is a newer text

	mu   sync.Mutex // guards text, and that nothing starts after Stop
	text string     // the newest
}

// NewStream returns a stream in which nothing happens before Working or Show. A request that working
// or show makes should not end with Live: one that is cut short may take effect after the reply.
func NewStream(g *Group, working, show func(ctx context.Context)) *Stream {
	s := &Stream{group: g, working: working, show: show, changed: make(chan struct{}, 1)}
	s.Live, s.end = context.WithCancel(context.Background())
	return s
}

// Working shows that the bot is at work.
func (s *Stream) Working() { s.start(s.working) }

// Show sets the newest text.
func (s *Stream) Show(text string) {
	s.mu.Lock()
	s.text = text
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if !s.showing {
		s.showing = true
		s.start(s.show)
	}
}

// start runs a goroutine of the stream.
func (s *Stream) start(do func(ctx context.Context)) {
	if !s.group.postpone(s, do) {
		s.startNow(do)
	}
}

func (s *Stream) startNow(do func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Live.Err() != nil {
		return
	}
	s.running.Add(1)
	if !s.group.Start(func(ctx context.Context) {
		defer s.running.Done()
		defer context.AfterFunc(ctx, s.end)()
		do(ctx)
	}) {
		s.running.Done()
	}
}

func (s *Stream) newest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// Follow calls show with the newest text, a pause after it has changed, until the stream ends. show
// returns after how long it wants to be called again (0: after the next change), and false if there
// is no use in that.
func (s *Stream) Follow(pause func() time.Duration, show func(text string) (again time.Duration, more bool)) {
	for {
		select {
		case <-s.changed:
		case <-s.Live.Done():
			return
		}
		for wait := pause(); ; {
			if Sleep(s.Live, wait) != nil {
				return
			}
			again, more := show(s.newest())
			if !more {
				return
			}
			if wait = again; wait == 0 {
				break
			}
		}
	}
}

// End ends the stream.
func (s *Stream) End() { s.end() }

// Stop ends the stream, and waits for its last request, which must not arrive after the next one.
func (s *Stream) Stop() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.running.Wait()
}
