// Indicators that the bot is working on a reply, and methods that Slack refuses.

package slack

import (
	"context"
	"strings"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

const (
	statusMethod  = "assistant.threads.setStatus"
	workingMethod = "reactions.add, while an answer is written" // distinct from reactMethod, so that one refusal does not affect the other
	workingEmoji  = "eyes"
	placeholder   = "Thinking…"
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
	if w.conversation.Thread != "" {
		return w.conversation.Thread
	}
	return w.answers
}

func (w *writer) hasStatus() bool {
	return w.s.o.Working == workingStatus && (w.conversation.Thread != "" || w.conversation.Direct()) &&
		w.statusThread() != "" && !w.s.refused(statusMethod, w.place.Channel)
}

// setStatus sets the status; an empty text clears it. It returns false where Slack shows none.
func (w *writer) setStatus(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.s.api.once.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{
		ChannelID: w.place.Channel, ThreadTS: w.statusThread(), Status: text,
	})
	return !w.s.noteRefusal(statusMethod, w.place.Channel, err)
}

// react adds a reaction to the answered message.
func (w *writer) react(ctx context.Context) {
	if !isTS(w.answers) || w.s.refused(workingMethod, w.place.Channel) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := w.s.api.once.AddReactionContext(ctx, workingEmoji, slackgo.NewRefToMessage(w.place.Channel, w.answers))
	if codeOf(err) == "already_reacted" { // by an earlier process
		err = nil
	}
	w.reacted = err == nil || mayHaveTakenEffect(err)
	w.s.noteRefusal(workingMethod, w.place.Channel, err)
}

// unreact removes the reaction of react.
func (w *writer) unreact(ctx context.Context) {
	err := w.s.api.write.RemoveReactionContext(ctx, workingEmoji, slackgo.NewRefToMessage(w.place.Channel, w.answers))
	if err != nil && !isPermanent(err) { // otherwise the reaction or the message is gone
		w.s.log.Debug("remove_reaction_failed", "error", err)
	}
}

// clear removes the status and the reaction, if any. It waits for that only if the connector is not
// running.
func (w *writer) clear() {
	reacted := w.reacted
	w.reacted = false
	if !reacted && (w.conversation.Thread != "" || !w.hasStatus()) { // Slack clears the status of a thread
		return
	}
	remove := func(ctx context.Context) {
		// The shutdown waits for this request instead of canceling it: nothing else would remove
		// them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout/3)
		defer cancel()
		w.clearStatus(ctx, reacted)
	}
	if !w.s.tasks.Start(remove) {
		remove(context.Background())
	}
}

// clearStatus removes the status, and the reaction if reacted is true.
func (w *writer) clearStatus(ctx context.Context, reacted bool) {
	if w.hasStatus() {
		w.setStatus(ctx, "")
	}
	if reacted {
		w.unreact(ctx)
	}
}

// noteRefusal records that err refuses a method in one channel or everywhere, whatever the request is
// about. It reports whether a retry of the request is pointless.
func (s *Slack) noteRefusal(method, channelID string, err error) bool {
	switch code := codeOf(err); {
	case unknownMethod(err), code == "missing_scope", code == "not_allowed_token_type", code == "method_deprecated":
		if !s.refused(method, "") {
			s.log.Info("method_not_offered", "method", method, "error", err)
		}
		s.refusals.Set(method+"/", code)
		return true
	case code == "channel_type_not_supported", strings.HasPrefix(code, "restricted_action"):
		s.refusals.Set(method+"/"+channelID, code)
	}
	return isPermanent(err)
}

// refused reports whether a method is known to be refused in a channel, or everywhere.
func (s *Slack) refused(method, channelID string) bool {
	if _, everywhere := s.refusals.Find(method + "/"); everywhere {
		return true
	}
	_, here := s.refusals.Find(method + "/" + channelID)
	return here
}
