// Streams: first the bot is typing, then a reply grows by edits.

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
	typingTimeout = 5 * time.Second // for one typing request
	streamRetry   = 2 * time.Second // after a failed request
)

// streamedPiece is the message that shows one part of the reply while it is written.
type streamedPiece struct {
	id     string // empty: none
	text   string // content of the message
	unsure bool   // a message may have been posted, with an unknown id
}

// piece returns the streamed piece of a part.
func (w *writer) piece(part int) *streamedPiece {
	for len(w.pieces) <= part {
		w.pieces = append(w.pieces, streamedPiece{})
	}
	return &w.pieces[part]
}

// adopt takes over the messages in which an earlier process showed the reply, whose id is empty while
// it is written. It does so once.
func (w *writer) adopt(ctx context.Context, reply string) error {
	if w.adopted || !w.d.mayHaveStarted(w.to) {
		return nil
	}
	found, err := w.d.findStarted(ctx, w.conversation, reply, w.to)
	if err != nil {
		return err
	}
	w.adopted = true
	for part, m := range found {
		if p := w.piece(part); p.id == "" {
			p.id, p.text = m.ID, m.text()
		}
	}
	return nil
}

// typing shows that the bot is typing until the reply is sent, or that is not possible here.
func (w *writer) typing(ctx context.Context) {
	for {
		ctx, cancel := context.WithTimeout(ctx, typingTimeout)
		err := w.d.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + w.channel + "/typing", once: true})
		cancel()
		if errors.Is(err, channel.ErrGone) || platform.Sleep(w.Live, w.d.pauses.typing) != nil {
			return
		}
	}
}

// showText updates the messages to show text, waiting between requests. It returns the delay until
// the next call (0: all of text is shown), and more is false if nothing can be shown here.
func (w *writer) showText(ctx context.Context, text string) (delay time.Duration, more bool) {
	if strings.TrimSpace(text) == "" {
		return 0, true
	}
	pieces := w.d.Split(text)
	for part, piece := range pieces {
		if part < len(w.pieces) && sameText(piece, w.pieces[part].text) {
			continue
		}
		err := w.writePart(ctx, part, piece)
		switch after := rateLimitWait(err); {
		case errors.Is(err, channel.ErrGone):
			return 0, false
		case after > 0:
			return after, true
		case err != nil:
			return streamRetry, true
		case part < len(pieces)-1:
			return max(w.UntilEdit(), time.Millisecond), true
		}
	}
	return 0, true
}

func (w *writer) writePart(ctx context.Context, part int, text string) error {
	if err := w.adopt(w.Live, ""); err != nil {
		return err
	}
	p := w.piece(part)
	if p.id == "" {
		made, err := w.postPart(ctx, part, text, true)
		p.unsure = err != nil && (p.unsure || !isRefusal(err))
		if err != nil {
			return err
		}
		p.id, p.text = made.ID, text
		if made.Content != nil { // it may be a message that was posted before
			p.text = *made.Content
		}
		w.NoteEdit(w.d.pauses.edit)
		return nil
	}
	if sameText(text, p.text) { // the piece was just adopted
		return nil
	}
	err := w.d.editMessage(ctx, w.channel, p.id, text, true)
	w.NoteEdit(w.d.pauses.edit)
	switch {
	case err == nil:
		p.text = text
	case refusedWith(err, codeUnknownMessage): // it was deleted; the caller stops showing, and Send posts a new one
		p.id = ""
	case !isRefusal(err):
		p.text = "" // unknown
	}
	return err
}

// postPart posts the message that shows a part. If one was posted before, it returns that: they have the same nonce.
func (w *writer) postPart(ctx context.Context, part int, text string, once bool) (message, error) {
	return w.d.create(ctx, w.channel, newPost(w.channel, text, replyTarget(part, w.to), nonce(w.key, part)), once)
}

// ensureText edits an existing message unless it already has this text, and returns its id.
func (w *writer) ensureText(ctx context.Context, m message, text string) (string, error) {
	if m.Content != nil && sameText(*m.Content, text) {
		return m.ID, nil
	}
	if err := platform.Sleep(ctx, w.UntilEdit()); err != nil {
		return "", err
	}
	defer w.NoteEdit(w.d.pauses.edit)
	return m.ID, w.d.editMessage(ctx, w.channel, m.ID, text, false)
}
