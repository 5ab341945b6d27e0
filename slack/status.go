// Indicators that the bot is working on a reply.

package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

const (
	workingEmoji = "eyes"
	placeholder  = "Thinking…"
)

// working shows that the bot is working on a reply: by a status, which it renews until the writer
// stops, or by a reaction where Slack shows no status.
func (w *writer) working(ctx context.Context) {
	if w.s.o.Working == workingOff || w.s.o.Working == workingStatus && w.status(ctx) {
		return
	}
	w.react(ctx)
}

// status keeps the status set until the writer stops. It returns false where Slack shows none:
// Slack shows it in threads and direct messages, and clears it when the bot posts in the thread. It
// is not set in a thread that the reply itself starts, where no one would see it.
func (w *writer) status(ctx context.Context) bool {
	if w.conversation.Thread == "" && !w.conversation.Direct() || w.statusThread() == "" {
		return false
	}
	for {
		if w.hasStatus = w.setStatus(ctx, "is thinking…"); !w.hasStatus {
			return false
		}
		if platform.Sleep(w.Live, w.s.times.status) != nil {
			return true
		}
	}
}

// statusThread returns the thread in which the status is set.
func (w *writer) statusThread() string {
	if w.conversation.Thread != "" {
		return w.conversation.Thread
	}
	return w.answers
}

// setStatus sets the status; an empty text clears it. It returns false where Slack shows none.
func (w *writer) setStatus(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.s.api.once.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{
		ChannelID: w.place.Channel, ThreadTS: w.statusThread(), Status: text,
	})
	return !isRefused(err)
}

// react adds a reaction to the answered message.
func (w *writer) react(ctx context.Context) {
	if !isTS(w.answers) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.s.api.once.AddReactionContext(ctx, workingEmoji, slackgo.NewRefToMessage(w.place.Channel, w.answers))
	w.reacted = err == nil || mayHaveTakenEffect(err) || codeOf(err) == "already_reacted" // by an earlier process
}

// clear removes the status and the reaction, if any. It waits for that only if the connector is not
// running.
func (w *writer) clear() {
	if w.conversation.Thread != "" {
		w.hasStatus = false // Slack clears the status of a thread
	}
	status, reacted := w.hasStatus, w.reacted
	if w.hasStatus, w.reacted = false, false; !status && !reacted {
		return
	}
	remove := func(ctx context.Context) {
		// The shutdown waits for this request instead of canceling it: nothing else would remove
		// them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout/3)
		defer cancel()
		w.clearNow(ctx, status, reacted)
	}
	if !w.s.Work.Start(remove) {
		remove(context.Background())
	}
}

func (w *writer) clearNow(ctx context.Context, status, reacted bool) {
	if status {
		w.setStatus(ctx, "")
	}
	if reacted {
		err := w.s.api.write.RemoveReactionContext(ctx, workingEmoji, slackgo.NewRefToMessage(w.place.Channel, w.answers))
		if err != nil && !isPermanent(err) { // otherwise the reaction or the message is gone
			w.s.Log.Debug("remove_reaction_failed", "error", err)
		}
	}
}
