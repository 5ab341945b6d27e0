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
	"cairn/internal/platform"
)

// takeBack bounds the deletion of streamed messages that will not be sent.
const takeBack = 10 * time.Second

// writer sends one reply, and shows it while it is written: first that the bot is typing, then the
// text, by edits.
type writer struct {
	*platform.Stream
	d            *Discord
	conversation string
	channel      string
	to           []string
	key          string // of the nonces of the messages that show it

	// Of the goroutine that shows the text, until it has ended.
	pieces []shownPiece // in order
	looked bool         // for what an earlier process began
	next   time.Time    // when it may be edited again
}

// Reply returns the writer of one reply.
func (d *Discord) Reply(conversation string, to []string) channel.Writer {
	w := &writer{d: d, conversation: conversation, channel: channelID(conversation), to: to}
	w.key = nonce("stream", w.channel, to, time.Now().UnixNano())
	w.Stream = platform.NewStream(d.work, w.typing, w.follow)
	return w
}

// Send sends one piece.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	id, err := w.deliver(ctx, piece)
	if err == nil && piece.Part == piece.Parts-1 && len(w.pieces) > piece.Parts {
		w.d.work.Start(func(ctx context.Context) { w.takeBack(context.WithoutCancel(ctx), piece.Parts) }) // the reply became shorter
	}
	return id, err
}

func (w *writer) deliver(ctx context.Context, piece channel.Piece) (string, error) {
	existing, err := w.existing(ctx, piece)
	if err != nil {
		return "", err
	}
	if existing.ID != "" {
		id, err := w.ensureText(ctx, existing, piece.Text)
		if !errors.Is(err, channel.ErrGone) {
			return id, err
		}
		w.piece(piece.Part).id = "" // somebody deleted it, or its thread was put away: a new one may do
	}
	p := newPost(w.channel, piece.Text, references(piece.Part, piece.To), nonceOf(w.conversation, piece))
	p.Components = w.d.buttons(channel.Buttons(piece))
	made, err := w.d.create(ctx, w.channel, p, false)
	if err != nil {
		return "", err
	}
	return w.ensureText(ctx, made, piece.Text)
}

// existing returns the message that already exists for a piece; its id is empty if there is none:
// what was shown of it, what an earlier process showed of it, or the piece itself, if
// it may have arrived.
func (w *writer) existing(ctx context.Context, piece channel.Piece) (message, error) {
	w.Stop()
	p := w.piece(piece.Part)
	if p.id == "" && piece.Sending {
		if m, err := w.d.sent(ctx, w.conversation, piece); err != nil || m.ID != "" {
			return m, err
		}
	}
	if p.id == "" {
		if err := w.adopt(ctx); err != nil {
			return message{}, err
		}
		p = w.piece(piece.Part)
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
	return m.Reference == nil && slices.Contains(w.piece(part).tried, strings.TrimSpace(m.text()))
}

// Cancel deletes what was shown. It waits for that: the next writer of the same answer would take it
// over.
func (w *writer) Cancel() {
	w.Stop()
	w.takeBack(w.d.work.Context(), 0)
}

// takeBack deletes the streamed messages of a reply from a part on.
func (w *writer) takeBack(ctx context.Context, from int) {
	ctx, cancel := context.WithTimeout(ctx, takeBack)
	defer cancel()
	var errs []error
	for part := from; part < len(w.pieces); part++ {
		p := w.pieces[part]
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
	if err := errors.Join(errs...); err != nil && !errors.Is(err, channel.ErrGone) {
		w.d.log.Debug("delete_draft_failed", "error", err)
	}
}

// mayHaveStarted reports whether messages are older than this process, so that an earlier process may
// have started the reply.
func (d *Discord) mayHaveStarted(to []string) bool {
	newest := last(to)
	return newest != "" && timeOf(newest).Before(d.started)
}

// references is the message that a part of a reply references: the first part, the newest of a burst.
func references(part int, to []string) string {
	if part > 0 {
		return ""
	}
	return last(to)
}

// last is the newest message of a burst.
func last(to []string) (newest string) {
	for _, id := range to {
		if newest == "" || newer(id, newest) {
			newest = id
		}
	}
	return newest
}
