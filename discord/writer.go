// Writers: a reply is streamed, then sent piece by piece.

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

// takeBack bounds the deletion of streamed messages that will not be sent.
const takeBack = 10 * time.Second

// writer sends one reply.
type writer struct {
	d            *Discord
	conversation string
	channel      string
	to           []string
	stream       *stream // what is shown of it
}

// Reply returns the writer of one reply, and shows that the bot is typing.
func (d *Discord) Reply(conversation string, to []string) channel.Writer {
	w := &writer{d: d, conversation: conversation, channel: channelID(conversation), to: to}
	w.stream = newStream(d, conversation, to)
	return w
}

// Show shows the text so far, as soon as the limits allow.
func (w *writer) Show(text string) {
	w.stream.Set(text)
}

// Send sends one piece.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	id, err := w.deliver(ctx, piece)
	if err == nil && piece.Part == piece.Parts-1 && len(w.stream.pieces) > piece.Parts {
		w.takeBackSoon(w.stream, piece.Parts) // the reply became shorter
	}
	return id, err
}

func (w *writer) deliver(ctx context.Context, piece channel.Piece) (string, error) {
	existing, err := w.existing(ctx, piece)
	if err != nil {
		return "", err
	}
	if existing.ID != "" {
		id, err := w.d.ensureText(ctx, w.channel, existing, piece.Text)
		if !errors.Is(err, channel.ErrGone) {
			return id, err
		}
		w.stream.piece(piece.Part).id = "" // somebody deleted it, or its thread was put away: a new one may do
	}
	to := ""
	if piece.Part == 0 {
		to = last(piece.To)
	}
	p := newPost(w.channel, piece.Text, to, nonceOf(w.conversation, piece))
	p.Components = w.d.buttons(channel.Buttons(piece))
	made, err := w.d.create(ctx, w.channel, p, false)
	if err != nil {
		return "", err
	}
	return w.d.ensureText(ctx, w.channel, made, piece.Text)
}

// existing returns the message that already exists for a piece; its id is empty if there is none:
// what was shown of it, what an earlier process showed of it, or the piece itself, if
// it may have arrived.
func (w *writer) existing(ctx context.Context, piece channel.Piece) (message, error) {
	s := w.stream
	s.Stop()
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
		return w.d.find(ctx, w.channel, piece.To, func(m message) bool { return w.mayBePart(m, piece.Part) })
	}
	return message{ID: p.id, Content: &p.text}, nil
}

// mayBePart reports whether a message may be the one of a part that was posted without an answer.
func (w *writer) mayBePart(m message, part int) bool {
	if part == 0 && len(w.to) > 0 {
		return m.answers(w.to)
	}
	return m.Reference == nil && slices.Contains(w.stream.piece(part).tried, strings.TrimSpace(m.text()))
}

// Cancel deletes what was shown.
func (w *writer) Cancel() {
	w.takeBackSoon(w.stream, 0)
	w.stream.End() // also if the connector is closing
}

// takeBackSoon deletes the streamed messages of a reply from a part on.
func (w *writer) takeBackSoon(s *stream, from int) {
	w.d.work.Start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
		defer cancel()
		if err := w.takeBack(ctx, s, from); err != nil && !errors.Is(err, channel.ErrGone) {
			w.d.log.Debug("delete_draft_failed", "error", err)
		}
	})
}

func (w *writer) takeBack(ctx context.Context, s *stream, from int) error {
	s.Stop()
	var errs []error
	for part := from; part < len(s.pieces); part++ {
		p := s.pieces[part]
		if p.id == "" && p.unsure {
			// A second attempt at the answer may have posted a message already.
			m, err := w.d.find(ctx, w.channel, w.to, func(m message) bool {
				return w.mayBePart(m, part) && slices.Contains(p.tried, strings.TrimSpace(m.text()))
			})
			errs, p.id = append(errs, err), m.ID
		}
		if p.id != "" {
			errs = append(errs, w.d.rest.do(ctx, call{method: http.MethodDelete, path: "/channels/" + w.channel + "/messages/" + p.id}))
		}
	}
	return errors.Join(errs...)
}

// mayHaveStarted reports whether messages are older than this process, so that an earlier process may
// have started the reply.
func (d *Discord) mayHaveStarted(to []string) bool {
	newest := last(to)
	return newest != "" && timeOf(newest).Before(d.started)
}

// last is the newest message of a burst; the reply references it.
func last(to []string) (newest string) {
	for _, id := range to {
		if newest == "" || newer(id, newest) {
			newest = id
		}
	}
	return newest
}
