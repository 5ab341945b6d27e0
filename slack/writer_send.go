// Sending of the pieces of a reply, each exactly once.

package slack

import (
	"context"
	"fmt"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// Send sends one piece and returns the ts of its first message.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	w.Stop()
	if channel.IsNotice(piece) {
		w.answers = "" // it is no answer, so no draft is looked for
	}
	if err := w.s.tasks.Wait(ctx); err != nil {
		return "", err
	}
	id, err := w.deliver(ctx, piece)
	if w.place != w.conversation && cannotReplyTo(err) { // e.g. the answered message was deleted
		w.place = w.conversation
		id, err = w.deliver(ctx, piece)
	}
	if piece.Part == piece.Parts-1 {
		w.clear()
	}
	if err != nil {
		return "", w.outboxError(ctx, err)
	}
	return id, nil
}

// outboxError converts an error for the outbox, which retries the piece unless it is
// channel.ErrGone.
func (w *writer) outboxError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if isPermanent(err) {
		return fmt.Errorf("post to Slack: %w: %w", channel.ErrGone, err)
	}
	err = explainBotError(err)
	w.s.stopIfSetupError(err)
	return fmt.Errorf("post to Slack: %w", err)
}

// deliver sends a piece. The first one replaces the draft, and none is posted twice.
func (w *writer) deliver(ctx context.Context, piece channel.Piece) (id string, err error) {
	var own []slackgo.Message
	if unsure := piece.Sending || w.draft.lost; unsure || piece.Part == 0 && w.draft.ts == "" && w.mayHaveStarted() {
		if own, err = w.findSent(ctx, unsure); err != nil {
			return "", err
		}
	}
	id, err = w.sendOne(ctx, piece.Text, mark{reply: piece.Reply, part: piece.Part, answers: w.answers}, own, buttonsOf(w.conversation, channel.Buttons(piece)))
	if err == nil {
		w.s.claims.Set(w.place.Channel+"/"+id, finished)
	}
	return id, err
}

// findSent returns the bot's messages since the answered one, or none where the history cannot be
// read. A missing scope is an error only if unsure, i.e. the piece may already have been sent.
func (w *writer) findSent(ctx context.Context, unsure bool) ([]slackgo.Message, error) {
	own, err := w.s.messagesSince(ctx, w.place, w.answers)
	if isPermanent(err) || unknownMethod(err) || !unsure && codeOf(err) == "missing_scope" {
		return nil, nil
	}
	if err != nil {
		return nil, explainBotError(err)
	}
	return own, nil
}

// sendOne sends one message of a reply and returns its ts, unless own contains it already. One with
// buttons replaces no draft.
func (w *writer) sendOne(ctx context.Context, text string, m mark, own []slackgo.Message, buttons []slackgo.BlockElement) (ts string, err error) {
	for _, o := range own {
		if w.s.matchesMark(o, m, text) {
			return o.Timestamp, nil
		}
	}
	if m.part > 0 || len(buttons) > 0 {
		return w.s.post(ctx, w.s.api.write, w.place, text, m, buttons...)
	}
	if w.draft.ts == "" {
		w.draft.adopt(own, w)
	}
	if w.draft.ts != "" {
		ts := w.draft.ts
		err := w.draft.finish(ctx, w, text, m)
		if err == nil || !cannotEdit(err) {
			return ts, err
		}
		w.deleteDraft(ctx)
		w.draft = draft{}
	}
	return w.s.post(ctx, w.s.api.write, w.place, text, m)
}

// mayHaveStarted reports whether an earlier process may have started the reply, because the
// answered message is older than this process. It allows for a clock difference of 5 seconds.
func (w *writer) mayHaveStarted() bool {
	return isTS(w.answers) && timeOf(w.answers).Before(w.s.self.since.Add(5*time.Second))
}
