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
	stream       *stream // what is shown of it
}

// Reply opens the writer of one reply. People see the bot type from now on.
func (d *Discord) Reply(conversation string, to []string) channel.Writer {
	w := &writer{d: d, conversation: conversation, channel: target(conversation), to: to}
	w.stream = newStream(d, conversation, to)
	if !d.work.start(w.stream.run) {
		w.stream.skip()
	}
	return w
}

// Show shows the text so far, as soon as Discord's limits allow.
func (w *writer) Show(text string) {
	w.stream.show(text)
}

// Send delivers one piece.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	id, err := w.deliver(ctx, piece)
	if err == nil && piece.Part == piece.Parts-1 && len(w.stream.pieces) > piece.Parts {
		w.takeBackSoon(w.stream, piece.Parts) // the reply became shorter
	}
	return id, err
}

func (w *writer) deliver(ctx context.Context, piece channel.Piece) (string, error) {
	begun, err := w.begun(ctx, piece)
	if err != nil {
		return "", err
	}
	if begun.ID != "" {
		id, err := w.d.settle(ctx, w.channel, begun, piece.Text)
		if !errors.Is(err, channel.ErrGone) {
			return id, err
		}
		w.stream.piece(piece.Part).id = "" // somebody deleted it, or its thread was put away: a new one may do
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
	s := w.stream
	if err := s.stop(ctx); err != nil {
		return message{}, err
	}
	p := s.piece(piece.Part)
	if p.id == "" && piece.Sending {
		if m, err := w.d.sent(ctx, w.conversation, piece); err != nil || m.ID != "" {
			return m, err
		}
	}
	if p.id == "" {
		if err := s.adopt(ctx); err != nil {
			return message{}, err
		}
		p = s.piece(piece.Part)
	}
	if p.id == "" && p.unsure {
		return w.d.find(ctx, w.channel, piece.To, func(m message) bool { return w.unsurely(m, piece.Part) })
	}
	return message{ID: p.id, Content: &p.text}, nil
}

// unsurely tells whether a message may be the one of a part that was posted without an answer.
func (w *writer) unsurely(m message, part int) bool {
	if part == 0 && len(w.to) > 0 {
		return m.answers(w.to)
	}
	return m.Reference == nil && slices.Contains(w.stream.piece(part).tried, strings.TrimSpace(m.text()))
}

// Cancel takes back what was shown.
func (w *writer) Cancel() {
	w.takeBackSoon(w.stream, 0)
	w.stream.halt() // also if the door is closing
}

// takeBackSoon deletes what was shown of a reply from a part on.
func (w *writer) takeBackSoon(s *stream, from int) {
	w.d.work.start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
		defer cancel()
		if err := w.takeBack(ctx, s, from); err != nil && !errors.Is(err, channel.ErrGone) {
			w.d.log.Debug("what was shown of a reply could not be taken back", "error", err)
		}
	})
}

func (w *writer) takeBack(ctx context.Context, s *stream, from int) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	var errs []error
	for part := from; part < len(s.pieces); part++ {
		p := s.pieces[part]
		if p.id == "" && p.unsure {
			// A second attempt at the answer may stand there already.
			m, err := w.d.find(ctx, w.channel, w.to, func(m message) bool {
				return w.unsurely(m, part) && slices.Contains(p.tried, strings.TrimSpace(m.text()))
			})
			errs, p.id = append(errs, err), m.ID
		}
		if p.id != "" {
			errs = append(errs, w.d.rest.do(ctx, call{method: http.MethodDelete, path: "/channels/" + w.channel + "/messages/" + p.id}))
		}
	}
	return errors.Join(errs...)
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
