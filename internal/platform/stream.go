// A reply that is shown while it is written.

package platform

import (
	"context"
	"sync"
	"time"
)

// Stream shows a reply until it is sent: one goroutine shows that the bot is working, another the
// newest text. They run in a group, once that is open: a reply that an earlier process started may
// resume before the connector runs.
type Stream struct {
	Live context.Context // ends with the stream; for work that may be abandoned

	group         *Group
	working, show func(ctx context.Context)
	showing       bool // only the goroutine that calls Show uses it
	end           context.CancelFunc
	running       sync.WaitGroup
	changed       chan struct{} // contains a token if there is a newer text

	mu   sync.Mutex // guards text, and that nothing starts after Stop
	text string     // the newest
}

// NewStream returns a stream that does nothing before Working or Show. The requests of working and
// show should not end with Live: one that is cut short may take effect after the reply.
func NewStream(g *Group, working, show func(ctx context.Context)) *Stream {
	s := &Stream{group: g, working: working, show: show, changed: make(chan struct{}, 1)}
	s.Live, s.end = context.WithCancel(context.Background())
	return s
}

// Working shows that the bot is working.
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
// returns the delay until the next call (0: after the next change), and more is false if further
// calls are useless.
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

// Stop ends the stream, and waits for its last request, which must not arrive after a later one.
func (s *Stream) Stop() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.running.Wait()
}
