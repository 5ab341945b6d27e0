// Writers: a reply is shown while it is written, then sent piece by piece.

package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// deleteTimeout is how long deleting the streamed messages that are not needed may take.
const deleteTimeout = 10 * time.Second

// writer sends one reply. While the reply is written it first shows that the bot is typing, then
// the text so far, by edits.
type writer struct {
	*platform.Stream
	d            *Discord
	conversation string
	channel      string
	to           []string
	key          string // part of the nonces of the streamed messages

	// Used only by the goroutine that shows the text, until it has ended.
	pieces  []streamedPiece // by part
	adopted bool            // adopt has searched for the messages of an earlier process
}

// Reply returns the writer of one reply.
func (d *Discord) Reply(conversation string, to []string) channel.Writer {
	w := &writer{d: d, conversation: conversation, channel: channelID(conversation), to: to}
	w.key = nonce("stream", w.channel, to, time.Now().UnixNano())
	w.Stream = platform.NewStream(d.Work, w.typing, func(ctx context.Context) {
		w.Follow(d.pauses.firstPost, func(text string) (time.Duration, bool) { return w.showText(ctx, text) })
	})
	return w
}

// Send sends one piece and returns the id of its message.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	if channel.IsNotice(piece) {
		w.to, piece.To = nil, nil // it is no answer
	}
	if err := w.d.Work.Wait(ctx); err != nil {
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
	existing, err := w.existing(ctx, piece)
	if err != nil {
		return "", err
	}
	if existing.ID != "" {
		id, err := w.ensureText(ctx, existing, piece.Text)
		if !errors.Is(err, channel.ErrGone) {
			return id, err
		}
		// It was deleted or its thread archived, so a new message may succeed.
	}
	p := newPost(w.channel, piece.Text, replyTarget(piece.Part, piece.To), nonceOf(w.conversation, piece))
	p.Components = buttons(channel.Buttons(piece))
	made, err := w.d.create(ctx, w.channel, p, false)
	if err != nil {
		return "", err
	}
	// What was streamed of this part and of later ones is above the new message, so it goes.
	w.piece(piece.Part).unsure = false // otherwise existing has found it
	w.deleteStreamed(ctx, piece.Part)
	w.pieces = w.pieces[:min(piece.Part, len(w.pieces))]
	return w.ensureText(ctx, made, piece.Text)
}

// existing returns the message that already exists for a piece, or one with an empty id: the
// streamed one of this or an earlier process, or the piece itself if it may have been sent.
func (w *writer) existing(ctx context.Context, piece channel.Piece) (message, error) {
	w.Stop()
	p := w.piece(piece.Part)
	if p.id == "" && piece.Sending {
		if m, err := w.d.findSent(ctx, w.conversation, piece); err != nil || m.ID != "" {
			return m, err
		}
	}
	if p.id == "" {
		if err := w.adopt(ctx, piece.Reply); err != nil {
			return message{}, err
		}
		p = w.piece(piece.Part) // adopt may have moved the pieces
	}
	if p.id == "" && p.unsure {
		return w.postPart(ctx, piece.Part, piece.Text, false)
	}
	return message{ID: p.id, Content: &p.text}, nil
}

// Cancel deletes the streamed messages. It waits for that, or the next writer of the same answer
// would take them over.
func (w *writer) Cancel() {
	w.Stop()
	w.deleteStreamed(w.d.Work.Context(), 0)
}

// deleteStreamed deletes the streamed messages of the parts from from on.
func (w *writer) deleteStreamed(ctx context.Context, from int) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	var errs []error
	for part := from; part < len(w.pieces); part++ {
		p := w.pieces[part]
		if p.id == "" && p.unsure {
			m, err := w.postPart(ctx, part, "…", false) // to learn its id
			errs, p.id = append(errs, err), m.ID
		}
		if p.id != "" {
			errs = append(errs, w.d.rest.do(ctx, call{method: http.MethodDelete, path: "/channels/" + w.channel + "/messages/" + p.id}))
		}
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, channel.ErrGone) {
		w.d.Log.Debug("delete_draft_failed", "error", err)
	}
}

// mayHaveStarted reports whether an earlier process may have started the reply to these messages,
// because they are older than this process.
func (d *Discord) mayHaveStarted(to []string) bool {
	newest := newestOf(to)
	return newest != "" && timeOf(newest).Before(d.started)
}

// replyTarget returns the message that a part of a reply references: the newest one for the first
// part, none for the others.
func replyTarget(part int, to []string) string {
	if part > 0 {
		return ""
	}
	return newestOf(to)
}

// newestOf returns the newest of some message ids; empty if there are none.
func newestOf(to []string) string {
	if len(to) == 0 {
		return ""
	}
	return slices.MaxFunc(to, byAge)
}
