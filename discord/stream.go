// Streams: typing, then a reply that grows by edits.

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

// stream shows a reply while it is written: first that the bot is typing, then the text, by edits.
// It is best effort: the writer sends the final text.
type stream struct {
	d            *Discord
	conversation string
	channel      string
	to           []string
	key          string // of the nonces of its messages

	live context.Context // of what need not be finished
	halt context.CancelFunc
	wake chan struct{} // has one when there is a newer text
	done chan struct{}

	mu   sync.Mutex // guards text
	text string     // the newest

	// The goroutine's own until done is closed.
	pieces []shownPiece // in order
	looked bool         // for what an earlier process began
	given  bool         // up: nothing can be shown here
}

// shownPiece is the message that shows a piece of the reply.
type shownPiece struct {
	id     string   // empty: there is none
	text   string   // the content of the message
	unsure bool     // a message may have been posted, with an unknown id
	tried  []string // what it may say
}

// piece returns the state of a part of the reply.
func (s *stream) piece(part int) *shownPiece {
	for len(s.pieces) <= part {
		s.pieces = append(s.pieces, shownPiece{})
	}
	return &s.pieces[part]
}

// adopt takes over, once, the messages in which an earlier process showed the reply.
func (s *stream) adopt(ctx context.Context) error {
	if s.looked || !s.d.mayHaveStarted(s.to) {
		return nil
	}
	left, err := s.d.findStarted(ctx, s.conversation, s.to)
	if err != nil {
		return err
	}
	s.looked = true
	for part, m := range left {
		if p := s.piece(part); p.id == "" {
			p.id, p.text = m.ID, m.text()
		}
	}
	return nil
}

func newStream(d *Discord, conversation string, to []string) *stream {
	channel := channelID(conversation)
	s := &stream{
		d: d, conversation: conversation, channel: channel, to: to, key: nonce("stream", channel, to, time.Now().UnixNano()),
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

// skip ends a stream that never runs.
func (s *stream) skip() {
	s.halt()
	close(s.done)
}

// stop ends the stream and waits for its last request, which must not arrive after the next one.
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
			if s.typed() {
				typing.Reset(s.d.pauses.typing)
			}
		case <-wake:
			wake = nil
			pause := s.d.throttle.wait(s.channel)
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

// typed sends a typing request; false: it is not possible here.
func (s *stream) typed() bool {
	ctx, cancel := context.WithTimeout(s.live, typingWait)
	defer cancel()
	err := s.d.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + s.channel + "/typing", once: true})
	return !errors.Is(err, channel.ErrGone)
}

// put shows the newest text, with one request at a time. It returns how long to wait before the
// next; 0: all is shown.
func (s *stream) put(ctx context.Context) time.Duration {
	s.mu.Lock()
	text := s.text
	s.mu.Unlock()
	if strings.TrimSpace(text) == "" {
		return 0
	}
	pieces := s.d.Split(text)
	for part, piece := range pieces {
		if part < len(s.pieces) && same(piece, s.pieces[part].text) {
			continue
		}
		err := s.write(ctx, part, piece)
		switch after := limitedFor(err); {
		case errors.Is(err, channel.ErrGone):
			s.given = true
			return 0
		case after > 0:
			return after
		case err != nil:
			return streamRetry
		case part < len(pieces)-1:
			return max(s.d.throttle.wait(s.channel), time.Millisecond)
		}
	}
	return 0
}

func (s *stream) write(ctx context.Context, part int, text string) error {
	if err := s.adopt(s.live); err != nil {
		return err
	}
	p := s.piece(part)
	if p.id == "" {
		if !p.unsure {
			p.tried = nil
		}
		p.tried = append(p.tried, strings.TrimSpace(text))
		to := ""
		if part == 0 {
			to = last(s.to)
		}
		made, err := s.d.create(ctx, s.channel, newPost(s.channel, text, to, nonce(s.key, part)), true)
		p.unsure = err != nil && (p.unsure || !isRefusal(err))
		if err != nil {
			return err
		}
		p.id, p.text = made.ID, text
		if made.Content != nil { // it may be what was posted before
			p.text = *made.Content
		}
		s.d.throttle.edited(s.channel)
		return nil
	}
	if same(text, p.text) { // it was adopted
		return nil
	}
	err := s.d.editMessage(ctx, s.channel, p.id, text, true)
	switch {
	case err == nil:
		p.text = text
	case refusedWith(err, codeUnknownMessage): // somebody deleted it: so be it until the reply is whole
		p.id, s.given = "", true
	case !isRefusal(err):
		p.text = "" // unknown
	}
	return err
}
