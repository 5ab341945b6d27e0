// Writers: a reply is shown while it is written, then sent.

package slack

import (
	"context"
	"strings"
	"time"
	"unicode"

	"cairn/channel"
	"cairn/internal/platform"
)

// writer sends one reply. While the reply is written it shows that the bot is working, then the
// text so far; at the end it sends the pieces. Only one goroutine calls its methods.
type writer struct {
	*platform.Stream
	s            *Slack
	conversation channel.Place // where the answered messages are
	place        channel.Place // where the reply is posted: in the conversation, or in a thread under the answered message
	answers      string        // ts of the last answered message
	draft        draft         // used only by the goroutine in show, until it has ended

	// Used only by the goroutine in working, until it has ended.
	hasStatus, reacted bool // there is a status, or a reaction on the answered message
}

// Reply returns the writer of one reply.
func (s *Slack) Reply(conversation string, to []string) channel.Writer {
	w := &writer{s: s, conversation: channel.ParsePlace(conversation)}
	w.Stream = platform.NewStream(s.tasks, w.working, w.show)
	if len(to) > 0 {
		w.answers = to[len(to)-1]
	}
	w.place = w.conversation
	if w.conversation.Thread == "" && isTS(w.answers) && s.repliesInThreads(w.conversation) {
		w.place.Thread = w.answers
	}
	return w
}

// repliesInThreads reports whether messages at the top level of a place are answered in threads.
// Such an answer still belongs to the conversation of that place.
func (s *Slack) repliesInThreads(p channel.Place) bool {
	return s.o.ReplyIn == replyThread || s.o.ReplyIn == replyAuto && !p.Direct()
}

// Working shows that the bot is working on the reply.
func (w *writer) Working() {
	if w.s.o.Working == workingPlaceholder && w.answers != "" {
		w.Show(placeholder)
	} else {
		w.Stream.Working()
	}
}

// show shows the latest text, with pauses between edits, until the writer stops.
func (w *writer) show(ctx context.Context) {
	w.Follow(0, func(text string) (delay time.Duration, more bool) {
		defer w.NoteEdit(w.s.times.edit)
		return w.showDraft(ctx, text)
	})
}

// showDraft edits the draft to show as much of text as fits into one message. It returns how long
// to wait before the next attempt (0: text is shown); more is false if further edits are pointless.
func (w *writer) showDraft(ctx context.Context, text string) (delay time.Duration, more bool) {
	text = trimPendingMention(w.s.Split(text)[0])
	if text == "" {
		return 0, true
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.draft.show(ctx, w, text)
	if err == nil {
		return 0, true
	}
	if wait, limited := rateLimit(err); limited {
		return wait, true // shows the text that is the latest by then
	}
	if isPermanent(err) {
		return 0, false
	}
	if w.Live.Err() == nil {
		w.s.log.Debug("show_draft_failed", "error", err)
	}
	return w.s.times.retry, !w.draft.lost // otherwise there might be two drafts
}

// trimPendingMention removes the ASCII characters after the last space, which may still become a
// mention of everyone.
func trimPendingMention(text string) string {
	text = strings.TrimRightFunc(text, func(r rune) bool { return r > ' ' && r <= unicode.MaxASCII })
	return strings.TrimRight(text, " \n\t")
}

// Cancel deletes the draft. It waits for that, or the next writer of the same answer would take it
// over.
func (w *writer) Cancel() {
	w.Stop()
	ctx, cancel := context.WithTimeout(w.s.tasks.Context(), callTimeout)
	defer cancel()
	w.deleteDraft(ctx)
	w.clearNow(ctx, w.hasStatus, w.reacted)
}

// deleteDraft deletes the draft. It is best effort.
func (w *writer) deleteDraft(ctx context.Context) {
	if w.draft.ts == "" {
		return
	}
	if w.draft.streaming {
		_ = w.draft.stopStream(ctx, w) // an unfinished stream cannot be deleted
	}
	w.s.remove(ctx, w.place.Channel, w.draft.ts)
}
