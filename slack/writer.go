// Writers: a reply is shown while the model writes it, then sent.

package slack

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"cairn/channel"
	"cairn/internal/platform"
)

// writer sends one reply: it shows that the bot is working, then the text so far, and sends the
// pieces. Only one goroutine calls its methods.
type writer struct {
	*platform.Stream
	s       *Slack
	asked   channel.Place // the conversation
	place   channel.Place // where it is posted: there, or in a thread under the message it answers
	answers string        // the ts of the last message it answers
	draft   draft         // of the goroutine that shows, until it has ended
	reacted bool          // the message it answers has a reaction; of the goroutine working, until it has ended
}

// Reply returns the writer of one reply.
func (s *Slack) Reply(conversation string, to []string) channel.Writer {
	w := &writer{s: s, asked: channel.ParsePlace(conversation)}
	w.Stream = platform.NewStream(s.tasks, w.working, w.show)
	if len(to) > 0 {
		w.answers = to[len(to)-1]
	}
	w.place = w.asked
	if w.asked.Thread == "" && isTS(w.answers) && s.repliesInThreads(w.asked) {
		w.place.Thread = w.answers
	}
	return w
}

// repliesInThreads reports whether messages in a channel are answered in threads. The answer still
// belongs to the channel's conversation.
func (s *Slack) repliesInThreads(p channel.Place) bool {
	return s.o.ReplyIn == replyThread || s.o.ReplyIn == replyAuto && !p.Direct()
}

// Working shows that the bot is at work.
func (w *writer) Working() {
	if w.s.o.Working == workingPlaceholder && w.answers != "" {
		w.Show(placeholder)
	} else {
		w.Stream.Working()
	}
}

// show shows the newest text, with pauses between edits, until the writer stops.
func (w *writer) show(ctx context.Context) {
	var next time.Time // edit
	w.Follow(func() time.Duration { return time.Until(next) }, func(text string) (again time.Duration, more bool) {
		again, more = w.showDraft(ctx, text)
		next = time.Now().Add(w.s.times.edit)
		return again, more
	})
}

// showDraft edits the draft so that it shows text, as far as it fits one message. It returns how long
// to wait before it is tried again (0: it is shown), and false if further edits are pointless.
func (w *writer) showDraft(ctx context.Context, text string) (again time.Duration, more bool) {
	text = wholeWords(w.s.Split(text)[0])
	if text == "" {
		return 0, true
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := w.draft.show(ctx, w, text)
	if err == nil {
		return 0, true
	}
	if errors.Is(err, errCutAgain) {
		return w.s.times.edit, true
	}
	if wait, limited := rateLimit(err); limited {
		return wait, true // to show it later, or what is newer by then
	}
	if refusedForGood(err) {
		return 0, false
	}
	if w.Live.Err() == nil {
		w.s.log.Debug("show_draft_failed", "error", err)
	}
	return w.s.times.retry, !w.draft.lost // else there might be two drafts
}

// wholeWords cuts off the end of a text that may still become a mention of everybody: the ASCII
// characters after the last space.
func wholeWords(text string) string {
	text = strings.TrimRightFunc(text, func(r rune) bool { return r > ' ' && r <= unicode.MaxASCII })
	return strings.TrimRight(text, " \n\t")
}

// Cancel deletes the draft. It waits for that: the next writer of the same answer would take it over.
func (w *writer) Cancel() {
	w.Stop()
	ctx, cancel := context.WithTimeout(w.s.tasks.Context(), callTime)
	defer cancel()
	w.deleteDraft(ctx)
	w.clearStatus(ctx, w.reacted)
}

// deleteDraft deletes the draft; it only logs errors.
func (w *writer) deleteDraft(ctx context.Context) {
	if w.draft.ts == "" {
		return
	}
	if w.draft.streaming {
		_ = w.draft.end(ctx, w) // or it could not be deleted
	}
	w.s.remove(ctx, w.place.Channel, w.draft.ts)
}
