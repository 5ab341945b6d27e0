// Sending the pieces of a reply, once each.

package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// Send sends one piece.
func (w *writer) Send(ctx context.Context, piece channel.Piece) (string, error) {
	w.Stop()
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
		return w.s.post(ctx, w.s.api.write, w.place, piece.Text, m, buttons...)
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
		return w.s.post(ctx, w.s.api.write, w.place, text, m)
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
	return w.s.post(ctx, w.s.api.write, w.place, text, m)
}

// mayHaveStarted reports whether the answered message is older than this process, so that an earlier
// process may have started the reply. The clocks may differ a little.
func (w *writer) mayHaveStarted() bool {
	return w.answers != "" && timeOf(w.answers).Before(w.s.self.since.Add(5*time.Second))
}
