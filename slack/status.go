// Signs that the bot is working on a reply, and what Slack refuses.

package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

const (
	statusMethod  = "assistant.threads.setStatus"
	workingMethod = "reactions.add, while an answer is written" // apart from that of compactions
	workingEmoji  = "eyes"
	placeholder   = "Thinking…"
)

// working shows that the bot is working on a reply until the writer stops: by a status, or by a
// reaction where Slack shows no status.
func (w *writer) working(ctx context.Context) {
	if w.s.o.Working == workingOff || w.s.o.Working == workingStatus && w.status(ctx) {
		return
	}
	w.react(ctx)
}

// status sets the status and returns false where Slack shows none. Slack shows it in threads and
// direct messages, and clears it when the bot posts there. In a thread that begins with the reply
// nobody would see it.
func (w *writer) status(ctx context.Context) bool {
	if !w.hasStatus() {
		return false
	}
	for w.setStatus(ctx, "is thinking…") {
		if platform.Sleep(w.Live, w.s.times.status) != nil {
			return true
		}
	}
	return false
}

// statusThread returns the thread in which the status is set.
func (w *writer) statusThread() string {
	if w.asked.Thread != "" {
		return w.asked.Thread
	}
	return w.answers
}

func (w *writer) hasStatus() bool {
	return w.s.o.Working == workingStatus && (w.asked.Thread != "" || w.asked.Direct()) &&
		w.statusThread() != "" && !w.s.refused(statusMethod, w.place.Channel)
}

// setStatus sets the status; empty clears it. It returns false where Slack shows none.
func (w *writer) setStatus(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := w.s.api.once.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{
		ChannelID: w.place.Channel, ThreadTS: w.statusThread(), Status: text,
	})
	return !w.s.learn(statusMethod, w.place.Channel, err)
}

// react adds a reaction to the message that is answered, without waiting for it.
func (w *writer) react(ctx context.Context) {
	if !isTS(w.answers) || w.s.refused(workingMethod, w.place.Channel) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := w.s.api.once.AddReactionContext(ctx, workingEmoji, slackgo.NewRefToMessage(w.place.Channel, w.answers))
	if codeOf(err) == "already_reacted" { // by an earlier process
		err = nil
	}
	w.reacted = err == nil || mayHaveHappened(err)
	w.s.learn(workingMethod, w.place.Channel, err)
}

// unreact removes the reaction.
func (w *writer) unreact(ctx context.Context) {
	err := w.s.api.write.RemoveReactionContext(ctx, workingEmoji, slackgo.NewRefToMessage(w.place.Channel, w.answers))
	if err != nil && !refusedForGood(err) { // else it is gone, or the message is
		w.s.log.Debug("remove_reaction_failed", "error", err)
	}
}

// clear removes status and reaction. It does not wait, unless the connector has been closed.
func (w *writer) clear() {
	reacted := w.reacted
	w.reacted = false
	if !reacted && (w.asked.Thread != "" || !w.hasStatus()) { // Slack itself takes the status away
		return
	}
	remove := func(ctx context.Context) {
		// A shutdown waits for it: nobody else does it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime/3)
		defer cancel()
		w.clearStatus(ctx, reacted)
	}
	if !w.s.tasks.Start(remove) {
		remove(context.Background())
	}
}

// clearStatus removes status and reaction.
func (w *writer) clearStatus(ctx context.Context, reacted bool) {
	if w.hasStatus() {
		w.setStatus(ctx, "")
	}
	if reacted {
		w.unreact(ctx)
	}
}

// learn records that a method is refused for good, in one channel or everywhere, and reports
// whether it is.
func (s *Slack) learn(method, channelID string, err error) bool {
	switch code := codeOf(err); {
	case unknownMethod(err), code == "missing_scope", code == "not_allowed_token_type", code == "method_deprecated":
		if !s.refused(method, "") {
			s.log.Info("method_not_offered", "method", method, "error", err)
		}
		s.refusals.Set(method+"/", code)
		return true
	case code == "invalid_thread_ts", code == "thread_not_found", code == "message_not_found", code == "user_not_found", code == "too_many_reactions", code == "too_many_emoji":
		return true // the message is gone, or the person; that says nothing of the next
	case refusedForGood(err):
		s.refusals.Set(method+"/"+channelID, code)
		return true
	}
	return false
}

// refused reports whether a method is known to be refused in a channel.
func (s *Slack) refused(method, channelID string) bool {
	if _, everywhere := s.refusals.Find(method + "/"); everywhere {
		return true
	}
	_, here := s.refusals.Find(method + "/" + channelID)
	return here
}
