// Streams show a reply while it is written.

package platform

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Stream shows a reply until it is sent: one goroutine shows that the bot is working, another the latest text. They wait until
// the group is opened: a reply may resume before the connector runs. One goroutine calls its methods, apart from those about edits.
type Stream struct {
	Live context.Context // canceled when the stream ends; for work that may be abandoned

	group    *Group
	working  func(ctx context.Context)
	first    time.Duration // from the first text to the first call of show
	show     ShowText
	showing  bool
	end      context.CancelFunc
	running  sync.WaitGroup
	text     atomic.Pointer[string] // the latest
	changed  chan struct{}          // has a token while show was not called with the latest text
	nextEdit time.Time              // used by the goroutine that shows the text, until it has ended
}

// ShowText shows a text. It returns the delay until the next call (0: after the next change); more is false if further calls are
// pointless.
type ShowText func(ctx context.Context, text string) (delay time.Duration, more bool)

// NewStream returns a stream that does nothing before Working or Show is called. The requests that working and show
// make should not be canceled with Live: a canceled one may still take effect after the reply is sent.
func NewStream(g *Group, working func(ctx context.Context), first time.Duration, show ShowText) *Stream {
	s := &Stream{group: g, working: working, first: first, show: show, changed: make(chan struct{}, 1)}
	s.Live, s.end = context.WithCancel(g.Ctx)
	return s
}

// Working starts showing that the bot is working.
func (s *Stream) Working() { s.start(s.working) }

// Show sets the latest text, and starts showing it.
func (s *Stream) Show(text string) {
	s.text.Store(&text)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if !s.showing {
		s.showing = true
		s.start(s.follow)
	}
}

func (s *Stream) start(do func(ctx context.Context)) {
	if s.Live.Err() != nil {
		return
	}
	s.running.Add(1)
	if !s.group.Start(func(ctx context.Context) {
		defer s.running.Done()
		if s.group.Wait(s.Live) == nil {
			do(ctx)
		}
	}) {
		s.running.Done()
	}
}

// NoteEdit allows no further edit for a pause.
func (s *Stream) NoteEdit(pause time.Duration) { s.nextEdit = time.Now().Add(pause) }

// UntilEdit returns how long to wait before the next edit.
func (s *Stream) UntilEdit() time.Duration { return time.Until(s.nextEdit) }

// follow shows the latest text after each change, the first one after a pause, and none before the next edit is allowed.
func (s *Stream) follow(ctx context.Context) {
	delay := time.Duration(0)
	more := true
	for first := s.first; more; first = 0 {
		if delay == 0 {
			select {
			case <-s.changed:
			case <-s.Live.Done():
			}
			delay = max(first, s.UntilEdit())
		}
		if Sleep(s.Live, delay) != nil {
			return
		}
		select {
		case <-s.changed: // the text came during the pause: show gets it now
		default:
		}
		if !s.group.MayAnswer() {
			return
		}
		delay, more = s.show(ctx, *s.text.Load())
	}
}

// Stop ends the stream and waits for its last request, which must not take effect after a later one.
func (s *Stream) Stop() {
	s.end()
	s.running.Wait()
}
