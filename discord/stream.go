// Streams: typing, then a reply that grows by edits.

package discord

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

const (
	typingWait  = 5 * time.Second // for one such request
	streamRetry = 2 * time.Second // after a failure
)

// stream shows a reply while it is written: first that the bot is typing, then the text, by edits.
// It is best effort: the writer sends the final text.
type stream struct {
	*platform.Stream
	d            *Discord
	conversation string
	channel      string
	to           []string
	key          string // of the nonces of its messages

	// Of the goroutine that shows the text, until it has ended.
	pieces []shownPiece // in order
	looked bool         // for what an earlier process began
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
		Stream: platform.NewStream(), d: d, conversation: conversation, channel: channel, to: to,
		key: nonce("stream", channel, to, time.Now().UnixNano()),
	}
	s.Start(d.work, func(context.Context) {
		for s.typed() && platform.Sleep(s.Live, d.pauses.typing) == nil {
		}
	})
	s.Start(d.work, func(ctx context.Context) {
		first := d.pauses.shown
		pause := func() time.Duration {
			least := first
			first = 0
			return max(d.throttle.wait(channel), least)
		}
		s.Follow(pause, func(text string) (time.Duration, bool) { return s.put(ctx, text) })
	})
	return s
}

// typed sends a typing request; false: it is not possible here.
func (s *stream) typed() bool {
	ctx, cancel := context.WithTimeout(s.Live, typingWait)
	defer cancel()
	err := s.d.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + s.channel + "/typing", once: true})
	return !errors.Is(err, channel.ErrGone)
}

// put shows a text, with one request at a time. It returns how long to wait before the next (0: all
// is shown), and false if nothing can be shown here.
func (s *stream) put(ctx context.Context, text string) (again time.Duration, more bool) {
	if strings.TrimSpace(text) == "" {
		return 0, true
	}
	pieces := s.d.Split(text)
	for part, piece := range pieces {
		if part < len(s.pieces) && same(piece, s.pieces[part].text) {
			continue
		}
		err := s.write(ctx, part, piece)
		switch after := limitedFor(err); {
		case errors.Is(err, channel.ErrGone):
			return 0, false
		case after > 0:
			return after, true
		case err != nil:
			return streamRetry, true
		case part < len(pieces)-1:
			return max(s.d.throttle.wait(s.channel), time.Millisecond), true
		}
	}
	return 0, true
}

func (s *stream) write(ctx context.Context, part int, text string) error {
	if err := s.adopt(s.Live); err != nil {
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
		p.id = ""
	case !isRefusal(err):
		p.text = "" // unknown
	}
	return err
}
