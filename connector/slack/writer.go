// Writers: people see a reply while it is written, then it is sent, each piece exactly once.

package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// replies opens the writers of replies, and has the parts that they use.
type replies struct {
	*poster
	self     *self
	times    *times
	history  *history
	commands *commands
	sessions *sessions
	working  string // see Options

	first atomic.Pointer[time.Time] // when Reply was first called in the process that answers, by Slack's clock; nil: not since the connector is open
}

// writer shows that the bot is working on one reply, then the text so far, and sends its pieces. One goroutine calls its methods.
type writer struct {
	*platform.Stream
	*replies

	conversation chat.Place // where the answered messages are
	place        chat.Place // where the reply is posted: in the conversation, or in a thread under the answered message
	answers      string     // ts of the last answered message
	fresh        bool       // see Fresh
	located      sync.Once  // see locate
	full         []draft    // the pieces before draft, each in a stream that has ended; used as draft is
	draft        draft      // used only by the goroutine in showDraft, until it has ended; so are the next ones
	looked       bool       // what an earlier process has left was looked for
	retry        platform.Backoff
	removed      sync.WaitGroup // of what shows that the bot is working
	busy         atomic.Bool    // the session of the thread may say that the bot works on this reply
}

// Reply returns the writer of one reply.
func (r *replies) Reply(conversation string, to []string) channel.Writer {
	r.noteFirst()
	w := &writer{replies: r, conversation: chat.ParsePlace(conversation), retry: r.times.retry}
	w.Stream = platform.NewStream(r.base.Work, w.showWorking, 0, w.showDraft)
	if len(to) > 0 {
		w.answers = to[len(to)-1]
	}
	w.place = w.conversation
	if w.conversation.Thread == "" && isTS(w.answers) && repliesInThreads(r.replyIn, w.conversation) {
		w.place.Thread = w.answers
	}
	return w
}

// locate finds the thread of an answer that belongs into one: that of the answered message, which itself may be in it. It is called once
// the connector is open, because who the bot is was not known before.
func (w *writer) locate(ctx context.Context) {
	w.located.Do(func() {
		if w.conversation.Thread == "" && isTS(w.answers) && (w.place.Thread != "" || w.recent.isWithAgent(w.place.Channel)) {
			w.place.Thread = w.threadOf(ctx, w.conversation, w.answers)
		}
	})
}

func (r *replies) noteFirst() {
	select {
	case <-r.base.Work.Opened:
		if !channel.FleetOf(r.base.Hub).StandsBy(Name) { // else it is a notice of what this process has received
			now := r.base.Clock.Now()
			r.first.CompareAndSwap(nil, &now)
		}
	default: // nothing can be shown yet
	}
}

// since returns when this process may have shown its first reply: a process that stood by may have authenticated long before.
func (r *replies) since() time.Time {
	first := r.first.Load()
	if first == nil {
		return r.self.since
	}
	return later(r.self.since, *first)
}

// Fresh implements channel.Adopter.
func (w *writer) Fresh() { w.fresh = true }

// Working shows that the bot is working on the reply.
func (w *writer) Working() {
	if w.working == workingPlaceholder && w.answers != "" {
		w.Show(placeholder)
	} else {
		w.Stream.Working()
	}
}

// showDraft shows the text, as far as the piece that grows. It returns the delay until the next call (0: it is complete), and if one is of use.
func (w *writer) showDraft(ctx context.Context, text string) (delay time.Duration, more bool) {
	defer w.NoteEdit(w.times.edit)
	w.locate(ctx)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.showPieces(ctx, split(text))
	wait, limited := rateLimit(err)
	switch {
	case err == nil, isPermanent(err):
		w.retry.Reset()
		return 0, err == nil
	case limited:
		return wait, true // shows the text that is the latest by then
	case w.Live.Err() == nil:
		w.base.Log.Debug("show_draft_failed", "error", err)
	}
	return w.retry.Next(), !w.draft.lost // otherwise there might be two drafts
}

// showPieces shows a long answer in several streams, one after another. Other drafts show the first piece alone.
func (w *writer) showPieces(ctx context.Context, pieces []string) error {
	last := len(pieces) - 1
	for len(w.full) < last {
		err := w.draft.show(ctx, w, pieces[len(w.full)])
		if err != nil || !w.draft.streaming || w.draft.unsure || w.Live.Err() != nil {
			return err
		}
		if err := w.draft.end(ctx, w); err != nil {
			return err
		}
		w.full = append(w.full, w.draft)
		w.draft = draft{}
	}
	if text := trimPendingMention(pieces[last]); text != "" && len(w.full) == last {
		return w.draft.show(ctx, w, text)
	}
	return nil
}

// trimPendingMention removes the ASCII characters after the last space, which may still become a mention of everyone.
func trimPendingMention(text string) string {
	text = strings.TrimRightFunc(text, func(r rune) bool { return r > ' ' && r <= unicode.MaxASCII })
	return strings.TrimRight(text, " \n\t")
}

// Cancel deletes the drafts, also those of an earlier process. It waits for that, or the next writer of the same answer would take them
// over.
func (w *writer) Cancel() {
	w.Stop()
	ctx, cancel := context.WithTimeout(w.base.Work.Ctx, callTimeout)
	defer cancel()
	err := w.adoptUnsent(ctx)
	if err != nil {
		w.base.Log.Debug("delete_draft_failed", "error", err)
	}
	w.recent.forgetStop(w.conversation.Channel, w.answers)
	if w.base.Work.MayAnswer() {
		w.deleteDrafts(ctx)
		w.release(ctx)
	}
	w.removed.Wait()
}

// Send sends one piece and returns the ts of its first message.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	w.Stop()
	if err := w.base.Work.Wait(ctx); err != nil {
		return "", err
	}
	w.locate(ctx)
	if channel.IsNotice(piece) {
		w.answers = "" // it is no answer, so no draft is looked for
	}
	id, err := w.deliver(ctx, piece)
	if w.place != w.conversation && slices.Contains(noReplyCodes, codeOf(err)) { // e.g. the answered message was deleted
		w.place = w.conversation
		id, err = w.deliver(ctx, piece)
	}
	if err == nil || isPermanent(err) {
		if piece.Part == piece.Parts-1 {
			w.deleteDrafts(ctx) // of an earlier process whose answer was longer
		}
		w.release(ctx)
	}
	switch {
	case err == nil:
		w.recent.noteFinished(w.place.Channel, id)
		return id, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case isPermanent(err):
		return "", fmt.Errorf("post to Slack: %w: %w", channel.ErrGone, err)
	}
	return "", fmt.Errorf("post to Slack: %w", stopIfSetupError(w.base.Work, err))
}

// deliver sends a piece, unless it was sent already. It replaces its draft, but not if it has buttons.
func (w *writer) deliver(ctx context.Context, piece channel.Piece) (ts string, err error) {
	m := mark{Reply: piece.Reply, Part: piece.Part, Answers: w.answers}
	buttons, under := w.buttons(piece)
	replaces := len(buttons) == 0
	if unsure := piece.Sending || w.next().lost; unsure || w.next().ts == "" && w.mayHaveStarted() && (piece.Part == 0 || !w.looked) {
		sent, err := w.findSent(ctx, unsure)
		if err != nil {
			return "", err
		}
		for _, o := range sent {
			if !w.poster.matchesMark(o, m, piece.Text) {
				continue
			}
			if replaces && w.next().ts == "" && !o.marked() && w.place.Thread != "" { // it may be a stream that was not ended
				*w.next() = draft{ts: o.TS, unsure: true}
				break
			}
			if w.next().ts == o.TS {
				w.shift()
			}
			return o.TS, nil
		}
		if replaces && w.next().ts == "" {
			w.adopt(ctx, sent)
		}
	}
	if d := w.next(); replaces && d.ts != "" {
		ts = d.ts
		err = d.finish(ctx, w, piece.Text, m, under)
		if err == nil {
			w.shift()
		}
		if code := codeOf(err); !slices.Contains(noEditCodes, code) && !slices.Contains(tooLongCodes, code) {
			return ts, err
		}
		if w.recent.isStopped(w.place.Channel, ts) { // what people saw stays
			w.shift()
			return ts, nil
		}
		if !w.deleteDraft(ctx) { // people would see it twice
			return ts, nil
		}
	}
	return w.poster.post(ctx, w.api.write, w.place, piece.Text, m, buttons, under)
}

// buttons returns those of a question, and those under an answer, which replaces the draft.
func (w *writer) buttons(piece channel.Piece) (buttons, under []slackgo.BlockElement) {
	for _, b := range channel.Buttons(piece) { // in a thread they may be about the conversation above
		button := buttonOf(b.Label, buttonValue{Line: b.Line, Thread: w.conversation.Thread, Beside: b.Beside})
		if b.Beside {
			under = append(under, button)
		} else {
			buttons = append(buttons, button)
		}
	}
	return buttons, under
}

// findSent returns the bot's messages since the answered one; none if it may not read them, unless a piece may have been sent.
func (w *writer) findSent(ctx context.Context, unsure bool) (sent []message, err error) {
	w.looked = true
	err = channel.Looking(ctx, func(ctx context.Context) (err error) {
		sent, err = w.history.messagesSince(ctx, w.place, w.answers)
		return err
	})
	if isPermanent(err) || unknownMethod(err) || !unsure && codeOf(err) == "missing_scope" {
		return nil, nil
	}
	return sent, explainBotError(err)
}

// mayHaveStarted reports whether an earlier process may have started the reply: within 5 s, the answered message is older.
func (w *writer) mayHaveStarted() bool {
	return !w.fresh && isTS(w.answers) && timeOf(w.answers).Before(w.since().Add(5*time.Second))
}
