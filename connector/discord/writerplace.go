// Where a writer shows its reply: in the channel, or in the thread that it opens from the question.

package discord

import (
	"context"
	"errors"
	"slices"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

func (w *writer) channel() string { return *w.at.Load() }

func (w *writer) move(to string) { w.at.Store(&to) }

func (w *writer) spot() spot { return spot{w.conversation, w.channel()} }

// enter opens, once, the thread to which the reply to these messages goes, if there is to be one.
func (w *writer) enter(ctx context.Context, to []string) error {
	if w.entered {
		return nil
	}
	root, err := w.threads.root(ctx, w.conversation, to)
	if err != nil {
		return err
	}
	if root.ID != "" {
		thread, fresh, err := w.threads.open(ctx, w.conversation, root)
		if err != nil {
			return err
		}
		if thread != "" {
			w.move(thread)
			w.fresh = fresh
		}
	}
	w.entered = true
	return nil
}

// reenter is enter for a reply that will not be sent: it opens no thread, and finds the one that an earlier process has opened.
func (w *writer) reenter(ctx context.Context) error {
	if w.entered {
		return nil
	}
	root, err := w.threads.root(ctx, w.conversation, w.to)
	if err != nil {
		return err
	}
	thread, _, err := w.threads.opened(ctx, w.conversation, root)
	if thread != "" {
		w.move(thread)
	}
	return err
}

// newPost returns a message of the reply. In a thread from the question it refers to nothing.
func (w *writer) newPost(text, to, nonce string) post {
	if w.spot().isThread() {
		to = ""
	}
	return newPost(w.channel(), text, to, nonce)
}

// create posts a final piece as a new message. If its thread is gone or locked, the reply goes to the channel.
func (w *writer) create(ctx context.Context, piece channel.Piece, buttons []discordgo.MessageComponent) (message, error) {
	for {
		message := w.newPost(piece.Text, replyTarget(piece.Part, piece.To), nonceOf(w.conversation, piece))
		message.add(buttons...)
		created, err := w.poster.create(ctx, w.channel(), message, false)
		if !errors.Is(err, channel.ErrGone) || !w.spot().isThread() {
			return created, err
		}
		w.deleteStreamed(ctx, piece.Part)
		w.pieces = w.pieces[:piece.Part]
		w.move(channelID(w.conversation))
	}
}

// findSent looks for the message in which an earlier process may have sent a piece. If this writer has opened the thread, no process
// has sent anything there, and perhaps to the channel.
func (w *writer) findSent(ctx context.Context, piece channel.Piece) (found message, err error) {
	at := w.spot()
	if w.fresh {
		at.channel = channelID(w.conversation)
	}
	err = channel.Looking(ctx, func(ctx context.Context) (err error) {
		found, err = w.history.findSent(ctx, at, piece)
		return err
	})
	if err == nil && found.ID != "" {
		w.move(at.channel)
	}
	return found, err
}

// replyTarget returns the message that a part of a reply references: the newest of to for the first part, none for the others.
func replyTarget(part int, to []string) string {
	if part > 0 {
		return ""
	}
	return slices.MaxFunc(append([]string{""}, to...), byAge)
}
