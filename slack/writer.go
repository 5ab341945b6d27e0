// Writers: a reply is shown while the model writes it, then sent.

package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	slackgo "github.com/slack-go/slack"

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

// Send sends one piece.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	w.stop()
	if w.s.ended.Load() {
		defer w.s.api.close()
	}
	if err := w.s.await(ctx); err != nil {
		return "", err
	}
	id, err := w.deliver(ctx, piece)
	if w.place != w.asked && takesNoReplies(err) { // the message was deleted
		w.place = w.asked
		id, err = w.deliver(ctx, piece)
	}
	if errors.Is(err, errCutAgain) {
		id, err = w.deliver(ctx, piece)
	}
	if piece.Part == piece.Parts-1 {
		w.clear()
	}
	if err != nil {
		return "", w.refused(ctx, err)
	}
	return id, nil
}

// refused converts an error for the outbox, which retries unless it is channel.ErrGone.
func (w *writer) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refusedForGood(err) {
		return fmt.Errorf("post to Slack: %w: %w", channel.ErrGone, err)
	}
	err = explainBotError("chat.postMessage", err)
	w.s.stopIfSetupError(err)
	return fmt.Errorf("post to Slack: %w", err)
}

// deliver sends a piece: the first one replaces the draft, and none is posted twice.
func (w *writer) deliver(ctx context.Context, piece channel.Piece) (id string, err error) {
	var own []slackgo.Message
	if unsure := piece.Sending || w.draft.lost; unsure || piece.Part == 0 && w.draft.ts == "" && w.mayHaveStarted() {
		if own, err = w.findSent(ctx, unsure); err != nil {
			return "", err
		}
	}
	if buttons := channel.Buttons(piece); len(buttons) > 0 {
		m := mark{reply: piece.Reply, part: piece.Part, of: 1, answers: w.answers}
		for _, o := range own {
			if w.s.carries(o, m, piece.Text) {
				return o.Timestamp, nil
			}
		}
		return w.s.post(ctx, waitForLimits, w.place, piece.Text, m, buttons...)
	}
	whole, cut := []string{piece.Text}, split(piece.Text, maxPlain, plainCost)
	if w.s.plain.Load() || wasCut(own, piece) {
		return w.putAll(ctx, cut, piece, own)
	}
	if id, err = w.putAll(ctx, whole, piece, own); tooLong(err) {
		return w.putAll(ctx, cut, piece, own)
	}
	return id, err
}

// putAll sends the messages of a piece, and returns the ts of the first.
func (w *writer) putAll(ctx context.Context, texts []string, piece channel.Piece, own []slackgo.Message) (id string, err error) {
	done := make([]string, len(texts))
	for sub, text := range texts {
		m := mark{reply: piece.Reply, part: piece.Part, sub: sub, of: len(texts), answers: w.answers}
		if done[sub], err = w.put(ctx, text, m, own); err != nil {
			return "", err
		}
	}
	for _, ts := range done {
		w.s.finished.Set(w.place.Channel+"/"+ts, "")
	}
	return done[0], nil
}

// findSent returns the bot's messages since the answered one, or none where the history cannot be
// read. A missing scope is an error only if the piece may have been sent before.
func (w *writer) findSent(ctx context.Context, unsure bool) ([]slackgo.Message, error) {
	own, err := w.s.sent(ctx, w.place, w.answers)
	if refusedForGood(err) || unknownMethod(err) || !unsure && codeOf(err) == "missing_scope" {
		return nil, nil
	}
	if err != nil {
		return nil, explainBotError("conversations.history", err)
	}
	return own, nil
}

// put sends one message of a reply, unless the bot has sent it before.
func (w *writer) put(ctx context.Context, text string, m mark, own []slackgo.Message) (ts string, err error) {
	for _, o := range own {
		if w.s.carries(o, m, text) {
			return o.Timestamp, nil
		}
	}
	if m.part > 0 || m.sub > 0 {
		return w.s.post(ctx, waitForLimits, w.place, text, m)
	}
	if w.draft.ts == "" {
		w.draft.adopt(own, w)
	}
	if w.draft.ts != "" {
		ts := w.draft.ts
		err := w.draft.finish(ctx, w, text, m)
		if err == nil || !gone(err) {
			return ts, err
		}
		w.deleteDraft(ctx)
		w.draft = draft{}
	}
	return w.s.post(ctx, waitForLimits, w.place, text, m)
}

// mayHaveStarted reports whether the answered message is older than this process, so that an earlier
// process may have started the reply. The clocks may differ a little.
func (w *writer) mayHaveStarted() bool {
	return w.answers != "" && timeOf(w.answers).Before(w.s.self.since.Add(5*time.Second))
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
