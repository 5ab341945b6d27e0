// Writers: first the bot is typing, then a reply grows by edits while it is written; at the end it is sent piece by piece.

package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/connector/platform"
)

const (
	deleteTimeout = 10 * time.Second // for all streamed messages that are not needed
	typingTimeout = 5 * time.Second  // for one typing request
	streamRetry   = 2 * time.Second  // after a failed request
)

type writer struct {
	*platform.Stream
	*poster

	conversation string
	at           atomic.Pointer[string] // the channel or thread where the reply is shown
	to           []string
	key          string // part of the nonces of the streamed messages

	// Used only by the goroutine that shows the text, until it has ended.
	pieces  []streamedPiece // by part
	adopted bool            // there are no messages of an earlier process that adopt has not found
	entered bool            // at is final, see enter
	fresh   bool            // at is a thread that this writer has opened
}

// streamedPiece is the message that shows one part of the reply while it is written.
type streamedPiece struct {
	id     string // empty: none
	text   string // content of the message
	unsure bool   // a message may have been posted, with an unknown id
	stops  bool   // it may have a button that stops the answer
}

// note notes the message, which has this text unless it says otherwise: it may be one that was posted before.
func (p *streamedPiece) note(m message, text string) {
	p.id = m.ID
	p.text = text
	p.stops = len(m.Components) > 0
	if m.Content != nil {
		p.text = *m.Content
	}
}

// Reply returns the writer of one reply.
func (p *poster) Reply(conversation string, to []string) channel.Writer {
	w := &writer{poster: p, conversation: conversation, to: to}
	w.move(channelID(conversation))
	w.key = nonce("stream", w.channel(), to, fmt.Sprint(time.Now().UnixNano())) // in words: %q writes one rune for all large numbers
	w.Stream = platform.NewStream(p.base.Work, w.typing, p.pauses.firstPost, w.showText)
	return w
}

// Fresh implements channel.Adopter.
func (w *writer) Fresh() { w.adopted = true }

// typing shows that the bot is typing until the reply is sent, or that is not possible here.
func (w *writer) typing(ctx context.Context) {
	for {
		var err error
		if w.mayPost(w.channel()) { // else its thread is to be opened
			ctx, cancel := context.WithTimeout(ctx, typingTimeout)
			err = w.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + w.channel() + "/typing", once: true})
			cancel()
		}
		if errors.Is(err, channel.ErrGone) || platform.Sleep(w.Live, w.pauses.typing) != nil {
			return
		}
	}
}

func (w *writer) piece(part int) *streamedPiece {
	for len(w.pieces) <= part {
		w.pieces = append(w.pieces, streamedPiece{})
	}
	return &w.pieces[part]
}

// showText shows text, or a part of it. It returns the delay until the next call (0: no text is left), and whether one is of use.
func (w *writer) showText(ctx context.Context, text string) (delay time.Duration, more bool) {
	if strings.TrimSpace(text) == "" {
		return 0, true
	}
	pieces := split(text)
	for part, piece := range pieces {
		if part < len(w.pieces) && sameText(piece, w.pieces[part].text) {
			continue
		}
		err := w.enter(w.Live, w.to)
		if err == nil {
			err = w.adopt(w.Live, "")
		}
		if p := w.piece(part); err == nil && p.id == "" {
			err = w.post(ctx, part, piece, true)
		} else if err == nil {
			err = w.edit(ctx, p, piece, true)
		}
		switch after := refusalIn(err).after; {
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

// adopt takes over, once, the messages in which an earlier process showed the reply, whose id is empty while it is written.
func (w *writer) adopt(ctx context.Context, reply string) error {
	newest := replyTarget(0, w.to)
	if w.adopted || newest == "" || !w.history.precedes(w.conversation, newest) { // this process was there before the question
		return nil
	}
	var found []message
	err := channel.Looking(ctx, func(ctx context.Context) (err error) {
		found, err = w.history.findStarted(ctx, w.spot(), reply, w.to)
		return err
	})
	if err != nil {
		return err
	}
	w.adopted = true
	for part, m := range found {
		if p := w.piece(part); p.id == "" {
			p.note(m, "")
			w.noteDraft(p)
		}
	}
	return nil
}

// post posts the message that shows a part. If one was posted before, it takes that: they have the same nonce.
func (w *writer) post(ctx context.Context, part int, text string, once bool) error {
	p := w.piece(part)
	message := w.newPost(text, replyTarget(part, w.to), nonce(w.key, part))
	message.add(commandButtons(channel.StopButton(w.base.Hub, w.conversation))...)
	created, err := w.poster.create(ctx, w.channel(), message, once)
	p.unsure = err != nil && (p.unsure || !hadNoEffect(err))
	if err == nil {
		p.note(created, text)
		p.stops = true
		w.noteDraft(p)
		w.NoteEdit(w.pauses.edit)
	}
	return err
}

// edit edits a message unless it has this text, once that is allowed.
func (w *writer) edit(ctx context.Context, p *streamedPiece, text string, once bool) error {
	if sameText(text, p.text) {
		return nil
	}
	return w.change(ctx, p, textPost(text), once)
}

// finish gives a message its final text, and these buttons in place of those that it has.
func (w *writer) finish(ctx context.Context, p *streamedPiece, text string, buttons []discordgo.MessageComponent) error {
	if len(buttons) == 0 && !p.stops {
		return w.edit(ctx, p, text, false)
	}
	err := w.change(ctx, p, answerPost(text, 0, buttons...), false)
	p.stops = p.stops && err != nil
	return err
}

// change replaces a message, once that is allowed.
func (w *writer) change(ctx context.Context, p *streamedPiece, message post, once bool) error {
	if err := platform.Sleep(ctx, w.UntilEdit()); err != nil {
		return err
	}
	err := w.poster.change(ctx, w.channel(), p.id, message, once)
	w.NoteEdit(w.pauses.edit)
	switch {
	case err == nil:
		p.text = message.Content
	case refusalIn(err).code == codeUnknownMessage: // it was deleted; showText gives up, and deliver posts a new one
		p.id = ""
	case !hadNoEffect(err):
		p.text = "" // unknown
	}
	return err
}

// Send sends one piece and returns the id of its message.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	to := piece.To
	if channel.IsNotice(piece) {
		w.to = nil
		piece.To = nil // it is no answer
	}
	if err := w.base.Work.Wait(ctx); err != nil {
		return "", err
	}
	w.Stop()
	w.endDrafts()
	if err := w.enter(ctx, to); err != nil {
		return "", err
	}
	id, err := w.deliver(ctx, piece)
	if err != nil || piece.Part < piece.Parts-1 {
		return id, err
	}
	// If the reply became shorter, the rest goes before the piece counts as sent: after a crash it is sent again.
	if err := w.adopt(ctx, piece.Reply); err != nil {
		return "", err
	}
	w.deleteStreamed(context.WithoutCancel(ctx), piece.Parts)
	return id, nil
}

func (w *writer) deliver(ctx context.Context, piece channel.Piece) (string, error) {
	p, err := w.existing(ctx, piece)
	if err != nil {
		return "", err
	}
	buttons := commandButtons(channel.Buttons(piece))
	if id := p.id; id != "" {
		if err := w.finish(ctx, p, piece.Text, buttons); !errors.Is(err, channel.ErrGone) {
			return id, err
		} // It was deleted or its thread archived, so a new message may succeed.
	}
	created, err := w.create(ctx, piece, buttons)
	if err != nil {
		return "", err
	}
	// What was streamed of this part and of later ones is above the new message, so it goes.
	p.unsure = false // otherwise existing has found it
	w.deleteStreamed(ctx, piece.Part)
	w.pieces = w.pieces[:piece.Part]
	var posted streamedPiece
	posted.note(created, piece.Text)
	return created.ID, w.edit(ctx, &posted, piece.Text, false)
}

// existing returns the streamed piece of a part, with its message: streamed by this or an earlier process, or sent.
func (w *writer) existing(ctx context.Context, piece channel.Piece) (*streamedPiece, error) {
	p := w.piece(piece.Part)
	if p.id == "" && piece.Sending {
		m, err := w.findSent(ctx, piece)
		if err != nil {
			return nil, err
		}
		p.note(m, p.text)
	}
	if p.id == "" {
		if err := w.adopt(ctx, piece.Reply); err != nil {
			return nil, err
		}
		p = w.piece(piece.Part) // adopt may have moved the pieces
	}
	if p.id == "" && p.unsure {
		return p, w.post(ctx, piece.Part, piece.Text, false)
	}
	return p, nil
}

// Cancel deletes the streamed messages, also those of an earlier process. It waits for that, or the next writer of the same answer
// would take them over.
func (w *writer) Cancel() {
	w.Stop()
	w.endDrafts()
	ctx, cancel := context.WithTimeout(w.base.Work.Ctx, deleteTimeout)
	defer cancel()
	err := w.base.Work.Wait(ctx)
	if err == nil && !w.base.Work.MayAnswer() {
		return
	}
	if err == nil {
		err = w.reenter(ctx)
	}
	if err == nil {
		err = w.adopt(ctx, "")
	}
	if err != nil {
		w.base.Log.Debug("delete_draft_failed", "error", err)
	}
	w.deleteStreamed(w.base.Work.Ctx, 0)
}

// deleteStreamed deletes the streamed messages of the parts from from on.
func (w *writer) deleteStreamed(ctx context.Context, from int) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	var errs []error
	for part := from; part < len(w.pieces); part++ {
		p := w.piece(part)
		if p.id == "" && p.unsure {
			errs = append(errs, w.post(ctx, part, "…", false)) // to learn its id
		}
		if p.id != "" {
			errs = append(errs, w.rest.do(ctx, call{method: http.MethodDelete, path: "/channels/" + w.channel() + "/messages/" + p.id}))
		}
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, channel.ErrGone) {
		w.base.Log.Debug("delete_draft_failed", "error", err)
	}
}
