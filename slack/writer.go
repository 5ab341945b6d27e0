// Writers: a reply is shown while the model writes it, then sent.

package slack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"unicode"

	"cairn/channel"
	"cairn/internal/platform"
)

// writer sends one reply: it shows that the bot is working, then the text so far, and sends the
// pieces. Only one goroutine calls its methods.
type writer struct {
	s       *Slack
	asked   channel.Place // the conversation
	place   channel.Place // where it is posted: there, or in a thread under the message it answers
	answers string        // the ts of the last message it answers
	draft   draft         // of the goroutine that shows, until it has ended
	reacted bool          // the message it answers has a reaction; of the goroutine working, until it has ended

	halt    context.CancelFunc // ends the waiting of the goroutines below
	halted  context.Context
	running sync.WaitGroup // of working and show
	showing bool
	news    chan struct{} // room for one: there is a newer text

	mu   sync.Mutex // guards text
	text string     // the newest
}

// Reply returns the writer of one reply.
func (s *Slack) Reply(conversation string, to []string) channel.Writer {
	w := &writer{s: s, asked: channel.ParsePlace(conversation), news: make(chan struct{}, 1)}
	if len(to) > 0 {
		w.answers = to[len(to)-1]
	}
	w.place = w.asked
	if w.asked.Thread == "" && isTS(w.answers) && s.repliesInThreads(w.asked) {
		w.place.Thread = w.answers
	}
	w.halted, w.halt = context.WithCancel(context.Background())
	if s.o.Working == workingPlaceholder && w.answers != "" {
		w.Show(placeholder)
	} else {
		w.start(w.working)
	}
	return w
}

// repliesInThreads reports whether messages in a channel are answered in threads. The answer still
// belongs to the channel's conversation.
func (s *Slack) repliesInThreads(p channel.Place) bool {
	return s.o.ReplyIn == replyThread || s.o.ReplyIn == replyAuto && !p.Direct()
}

// start starts a goroutine of the writer, if Run is active.
func (w *writer) start(do func(ctx context.Context)) {
	select {
	case <-w.s.ready:
	default:
		return
	}
	w.running.Add(1)
	if !w.s.tasks.Start(func(ctx context.Context) {
		defer w.running.Done()
		do(ctx)
	}) {
		w.running.Done()
	}
}

// stop ends the goroutines and waits for them.
func (w *writer) stop() {
	w.halt()
	w.running.Wait()
}

// Show sets the newest text; a goroutine shows it.
func (w *writer) Show(text string) {
	w.mu.Lock()
	w.text = text
	w.mu.Unlock()
	w.wake()
	if !w.showing {
		w.showing = true
		w.start(w.show)
	}
}

func (w *writer) wake() {
	select {
	case w.news <- struct{}{}:
	default: // it will look anyway
	}
}

// show shows the newest text, with pauses between edits, until the writer stops.
func (w *writer) show(ctx context.Context) {
	for {
		select {
		case <-w.news:
		case <-w.halted.Done():
			return
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		text := w.text
		w.mu.Unlock()
		if !w.showDraft(ctx, text) {
			return
		}
		if platform.Sleep(w.halted, w.s.times.edit) != nil {
			return
		}
	}
}

// showDraft edits the draft so that it shows text, as far as it fits one message. It returns false
// if further edits are pointless.
func (w *writer) showDraft(ctx context.Context, text string) bool {
	text = wholeWords(w.s.Split(text)[0])
	if text == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := w.draft.show(ctx, w, text)
	if err == nil {
		return true
	}
	if errors.Is(err, errCutAgain) {
		w.wake()
		return true
	}
	if wait, limited := rateLimit(err); limited {
		w.wake() // to show it later, or what is newer by then
		return platform.Sleep(w.halted, wait) == nil
	}
	if !refusedForGood(err) && w.halted.Err() == nil {
		w.s.log.Debug("show_draft_failed", "error", err)
	}
	return false
}

// wholeWords cuts off the end of a text that may still become a mention of everybody: the ASCII
// characters after the last space.
func wholeWords(text string) string {
	text = strings.TrimRightFunc(text, func(r rune) bool { return r > ' ' && r <= unicode.MaxASCII })
	return strings.TrimRight(text, " \n\t")
}

// Cancel deletes the draft.
func (w *writer) Cancel() {
	w.halt()
	w.s.tasks.Start(func(ctx context.Context) {
		w.running.Wait()
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		w.deleteDraft(ctx)
		w.clearStatus(ctx, w.reacted)
	})
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
