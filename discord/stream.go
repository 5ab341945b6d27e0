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

// shownPiece is the message that shows a piece of the reply.
type shownPiece struct {
	id     string   // empty: there is none
	text   string   // the content of the message
	unsure bool     // a message may have been posted, with an unknown id
	tried  []string // what it may say
}

// piece returns the state of a part of the reply.
func (w *writer) piece(part int) *shownPiece {
	for len(w.pieces) <= part {
		w.pieces = append(w.pieces, shownPiece{})
	}
	return &w.pieces[part]
}

// adopt takes over, once, the messages in which an earlier process showed the reply.
func (w *writer) adopt(ctx context.Context) error {
	if w.looked || !w.d.mayHaveStarted(w.to) {
		return nil
	}
	left, err := w.d.findStarted(ctx, w.conversation, w.to)
	if err != nil {
		return err
	}
	w.looked = true
	for part, m := range left {
		if p := w.piece(part); p.id == "" {
			p.id, p.text = m.ID, m.text()
		}
	}
	return nil
}

// typing shows that the bot is typing, until the reply is sent.
func (w *writer) typing(ctx context.Context) {
	for w.typed(ctx) && platform.Sleep(w.Live, w.d.pauses.typing) == nil {
	}
}

// follow shows the text as it grows. It is best effort: Send sends the final text.
func (w *writer) follow(ctx context.Context) {
	first := w.d.pauses.shown
	pause := func() time.Duration {
		least := first
		first = 0
		return max(time.Until(w.next), least)
	}
	w.Follow(pause, func(text string) (time.Duration, bool) { return w.put(ctx, text) })
}

// typed sends a typing request; false: it is not possible here.
func (w *writer) typed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, typingWait)
	defer cancel()
	err := w.d.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + w.channel + "/typing", once: true})
	return !errors.Is(err, channel.ErrGone)
}

// put shows a text, with one request at a time. It returns how long to wait before the next (0: all
// is shown), and false if nothing can be shown here.
func (w *writer) put(ctx context.Context, text string) (again time.Duration, more bool) {
	if strings.TrimSpace(text) == "" {
		return 0, true
	}
	pieces := w.d.Split(text)
	for part, piece := range pieces {
		if part < len(w.pieces) && same(piece, w.pieces[part].text) {
			continue
		}
		err := w.write(ctx, part, piece)
		switch after := limitedFor(err); {
		case errors.Is(err, channel.ErrGone):
			return 0, false
		case after > 0:
			return after, true
		case err != nil:
			return streamRetry, true
		case part < len(pieces)-1:
			return max(time.Until(w.next), time.Millisecond), true
		}
	}
	return 0, true
}

func (w *writer) write(ctx context.Context, part int, text string) error {
	if err := w.adopt(w.Live); err != nil {
		return err
	}
	p := w.piece(part)
	if p.id == "" {
		if !p.unsure {
			p.tried = nil
		}
		p.tried = append(p.tried, strings.TrimSpace(text))
		made, err := w.d.create(ctx, w.channel, newPost(w.channel, text, references(part, w.to), nonce(w.key, part)), true)
		p.unsure = err != nil && (p.unsure || !isRefusal(err))
		if err != nil {
			return err
		}
		p.id, p.text = made.ID, text
		if made.Content != nil { // it may be what was posted before
			p.text = *made.Content
		}
		w.edited()
		return nil
	}
	if same(text, p.text) { // it was adopted
		return nil
	}
	err := w.d.editMessage(ctx, w.channel, p.id, text, true)
	w.edited()
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

// edited notes that the reply was posted or edited.
func (w *writer) edited() { w.next = time.Now().Add(w.d.pauses.edit) }

// ensureText edits a message that was found, or posted before, unless it has this text.
func (w *writer) ensureText(ctx context.Context, m message, text string) (string, error) {
	if m.Content != nil && same(*m.Content, text) {
		return m.ID, nil
	}
	if err := platform.Sleep(ctx, time.Until(w.next)); err != nil {
		return "", err
	}
	defer w.edited()
	return m.ID, w.d.editMessage(ctx, w.channel, m.ID, text, false)
}
