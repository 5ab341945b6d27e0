// Streams: a reply is shown while it is written.

package platform

import (
	"context"
	"sync"
	"time"
)

// Stream shows a reply until it is sent: one goroutine shows that the bot is working, another shows
// the latest text. They run in a group and wait until it is opened: a reply that an earlier process
// started may resume before the connector runs.
type Stream struct {
	Live context.Context // canceled when the stream ends; for work that may be abandoned

	group         *Group
	working, show func(ctx context.Context)
	showing       bool // used only by the goroutine that calls Show
	end           context.CancelFunc
	running       sync.WaitGroup
	changed       chan struct{} // has a token while there is a text that is not shown yet

	mu   sync.Mutex // guards text, and makes sure that nothing starts after Stop
	text string     // the latest
}

// NewStream returns a stream that does nothing before Working or Show is called. The requests that
// working and show make should not be canceled with Live: a canceled one may still take effect
// after the reply is sent.
func NewStream(g *Group, working, show func(ctx context.Context)) *Stream {
	s := &Stream{group: g, working: working, show: show, changed: make(chan struct{}, 1)}
	s.Live, s.end = context.WithCancel(context.Background())
	return s
}

// Working starts showing that the bot is working.
func (s *Stream) Working() { s.start(s.working) }

// Show sets the latest text, and starts showing it.
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

// start runs do in a goroutine of the stream, once the group is open.
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

// Follow calls show with the latest text until the stream ends, each time a pause after the text
// has changed. show returns the delay until the next call (0: after the next change); more is false
// if further calls are pointless.
func (s *Stream) Follow(pause func() time.Duration, show func(text string) (delay time.Duration, more bool)) {
	for {
		select {
		case <-s.changed:
		case <-s.Live.Done():
			return
		}
		for next := pause(); ; {
			if Sleep(s.Live, next) != nil {
				return
			}
			delay, more := show(s.newest())
			if !more {
				return
			}
			if next = delay; next == 0 {
				break
			}
		}
	}
}

// End ends the stream without waiting for its requests.
func (s *Stream) End() { s.end() }

// Stop ends the stream and waits for its last request, which must not take effect after a later
// one.
func (s *Stream) Stop() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.running.Wait()
}
