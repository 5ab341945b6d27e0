// A reply while it is written: first the bot types, then the text grows by edits.

package discord

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"cairn/channel"
)

const (
	typingWait  = 5 * time.Second // for one such request
	streamRetry = 2 * time.Second // after a failure
)

// stream shows a reply while it is made: first that the bot types, then the text, which
// grows by edits. It is best effort: the writer sends what counts.
type stream struct {
	d       *Discord
	channel string
	to      []string
	key     string // nonce of its message

	live context.Context // of what need not be finished
	halt context.CancelFunc
	wake chan struct{} // has one when there is a newer text
	done chan struct{}

	mu   sync.Mutex // guards text
	text string     // the newest

	// The goroutine's own until done is closed.
	id     string   // of its message; empty: there is none
	shown  string   // what stands there
	unsure bool     // a message may stand there, but which is not known
	tried  []string // what it may say
	looked bool     // for what an earlier process began
	given  bool     // up: nothing can be shown here
}

func newStream(d *Discord, channel string, to []string) *stream {
	s := &stream{
		d: d, channel: channel, to: to, key: nonce("stream", channel, to, time.Now().UnixNano()),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.live, s.halt = context.WithCancel(context.Background())
	return s
}

func (s *stream) show(text string) {
	s.mu.Lock()
	s.text = text
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// stop ends the stream and waits for its last request, which must not arrive after
// what comes next.
func (s *stream) stop(ctx context.Context) error {
	s.halt()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stream) run(ctx context.Context) {
	defer close(s.done)
	defer context.AfterFunc(ctx, s.halt)()
	typing, due := time.NewTimer(0), time.NewTimer(time.Hour)
	defer typing.Stop()
	defer due.Stop()
	wake := s.wake // nil while a request is due
	due.Stop()
	for first := true; ; {
		select {
		case <-s.live.Done():
			return
		case <-typing.C:
			if s.id == "" && s.typed() { // an edit would not end the typing that people see
				typing.Reset(s.d.pauses.typing)
			}
		case <-wake:
			wake = nil
			pause := s.d.pace.left(s.channel)
			if first {
				first, pause = false, max(pause, s.d.pauses.shown)
			}
			due.Reset(pause)
		case <-due.C:
			if again := s.put(ctx); again > 0 {
				due.Reset(again)
			} else if !s.given {
				wake = s.wake
			}
		}
	}
}

// typed shows that the bot types; false: that is not possible here.
func (s *stream) typed() bool {
	ctx, cancel := context.WithTimeout(s.live, typingWait)
	defer cancel()
	err := s.d.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + s.channel + "/typing", once: true})
	return !errors.Is(err, channel.ErrGone)
}

// put brings the newest text to where people see it. It returns how long to wait until
// it is tried again; 0: it stands there.
func (s *stream) put(ctx context.Context) time.Duration {
	s.mu.Lock()
	text := s.text
	s.mu.Unlock()
	text = s.d.Split(text)[0]
	if strings.TrimSpace(text) == "" || same(text, s.shown) {
		return 0
	}
	err := s.write(ctx, text)
	switch after := limitedFor(err); {
	case err == nil:
		return 0
	case errors.Is(err, channel.ErrGone):
		s.given = true
		return 0
	case after > 0:
		return after
	}
	return streamRetry
}

func (s *stream) write(ctx context.Context, text string) error {
	if s.id == "" && !s.looked && s.d.earlier(s.to) {
		m, err := s.d.begun(s.live, s.channel, s.to)
		if err != nil {
			return err
		}
		s.looked, s.id, s.shown = true, m.ID, m.text()
	}
	if s.id == "" {
		if !s.unsure {
			s.tried = nil
		}
		s.tried = append(s.tried, strings.TrimSpace(text))
		made, err := s.d.create(ctx, s.channel, newPost(s.channel, text, last(s.to), s.key), true)
		s.unsure = err != nil && (s.unsure || !isRefusal(err))
		if err != nil {
			return err
		}
		s.id, s.shown = made.ID, text
		if made.Content != nil { // it may be what was posted before
			s.shown = *made.Content
		}
		s.d.pace.mark(s.channel)
		return nil
	}
	err := s.d.change(ctx, s.channel, s.id, text, true)
	switch {
	case err == nil:
		s.shown = text
	case refusedWith(err, codeUnknownMessage): // somebody deleted it: so be it until the reply is whole
		s.id, s.given = "", true
	case !isRefusal(err):
		s.shown = "" // nobody knows
	}
	return err
}
