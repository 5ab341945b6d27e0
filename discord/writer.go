// The writer carries one reply: it sends what was streamed for good, piece by piece.

package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/channel"
)

// takeBack bounds the deletion of what was shown and will not be sent.
const takeBack = 10 * time.Second

// writer carries one reply.
type writer struct {
	d            *Discord
	conversation string
	channel      string
	to           []string
	stream       *stream // what is shown of it; nil: nothing
}

// Reply opens the writer of one reply. People see the bot type from now on.
func (d *Discord) Reply(conversation string, to []string) channel.Writer {
	w := &writer{d: d, conversation: conversation, channel: target(conversation), to: to}
	s := newStream(d, w.channel, to)
	if d.work.start(s.run) {
		w.stream = s
	} else {
		s.halt()
	}
	return w
}

// Show shows the text so far, as soon as Discord's limits allow.
func (w *writer) Show(text string) {
	if w.stream != nil {
		w.stream.show(text)
	}
}

// Send delivers one piece.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	begun, err := w.begun(ctx, piece)
	if err != nil {
		return "", err
	}
	if begun.ID != "" {
		id, err := w.d.settle(ctx, w.channel, begun, piece.Text)
		if !errors.Is(err, channel.ErrGone) {
			return id, err
		}
		if w.stream != nil { // somebody deleted it, or its thread was put away: a new one may do
			w.stream.id = ""
		}
	}
	to := ""
	if piece.Part == 0 {
		to = last(piece.To)
	}
	made, err := w.d.create(ctx, w.channel, newPost(w.channel, piece.Text, to, nonceOf(w.conversation, piece)), false)
	if err != nil {
		return "", err
	}
	return w.d.settle(ctx, w.channel, made, piece.Text)
}

// begun is the message that stands already for a piece, without id if there is none:
// what was shown of it, what an earlier process showed of it, or the piece itself, if
// it may have arrived.
func (w *writer) begun(ctx context.Context, piece channel.Piece) (message, error) {
	unsure := false
	if s := w.stream; s != nil {
		if err := s.stop(ctx); err != nil {
			return message{}, err
		}
		if piece.Part == 0 && s.id != "" {
			return message{ID: s.id, Content: &s.shown}, nil
		}
		unsure = s.unsure
	}
	if piece.Sending {
		return w.d.sent(ctx, w.conversation, piece)
	}
	if piece.Part == 0 && (unsure || w.d.earlier(piece.To)) {
		return w.d.begun(ctx, w.channel, piece.To)
	}
	return message{}, nil
}

// Cancel takes back what was shown.
func (w *writer) Cancel() {
	s := w.stream
	if s == nil {
		return
	}
	w.stream = nil
	w.d.work.start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
		defer cancel()
		if err := w.takeBack(ctx, s); err != nil && !errors.Is(err, channel.ErrGone) {
			w.d.log.Debug("a reply that was broken off could not be taken back", "error", err)
		}
	})
	s.halt() // also if the door is closing
}

func (w *writer) takeBack(ctx context.Context, s *stream) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	id := s.id
	if id == "" && s.unsure {
		// A second attempt at the answer may stand there already.
		m, err := w.d.find(ctx, w.channel, w.to, func(m message) bool { return m.answers(w.to) && slices.Contains(s.tried, strings.TrimSpace(m.text())) })
		if err != nil {
			return err
		}
		id = m.ID
	}
	if id == "" {
		return nil
	}
	return w.d.rest.do(ctx, call{method: http.MethodDelete, path: "/channels/" + w.channel + "/messages/" + id})
}

// earlier tells whether messages are older than this process: an answer to them may
// have been begun before it.
func (d *Discord) earlier(to []string) bool {
	newest := last(to)
	return newest != "" && timeOf(newest).Before(d.started)
}

// last is the newest of a burst's messages, which the reply refers to.
func last(to []string) (newest string) {
	for _, id := range to {
		if newest == "" || newer(id, newest) {
			newest = id
		}
	}
	return newest
}
