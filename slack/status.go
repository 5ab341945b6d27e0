// The line that says the bot is at work; and what Slack refuses is learnt.

package slack

import (
	"context"
	"time"

	slackgo "github.com/slack-go/slack"
)

const statusMethod = "assistant.threads.setStatus"

// status shows that the bot works on an answer until the writer stops. Slack shows it
// in threads and direct messages, and takes it away when the bot posts there.
func (w *writer) status(ctx context.Context) {
	if !w.hasStatus() {
		return
	}
	renew := time.NewTicker(w.s.times.status)
	defer renew.Stop()
	for {
		if !w.setStatus(w.halted, "is thinking…") {
			return
		}
		select {
		case <-renew.C:
		case <-w.halted.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// statusThread is the thread in which the status stands.
func (w *writer) statusThread() string {
	if w.place.Thread != "" {
		return w.place.Thread
	}
	return w.answers
}

func (w *writer) hasStatus() bool {
	return (w.place.Thread != "" || w.place.Direct()) && w.statusThread() != "" && !w.s.refused(statusMethod, w.place.Channel)
}

// setStatus shows a status; empty: none. It returns false where Slack shows none.
func (w *writer) setStatus(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := w.s.api.write.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{
		ChannelID: w.place.Channel, ThreadTS: w.statusThread(), Status: text,
	})
	return !w.s.learn(statusMethod, w.place.Channel, err)
}

// clear takes the status away after a reply that was posted elsewhere than where it
// stands. It does not wait.
func (w *writer) clear() {
	if w.place.Thread == "" && w.hasStatus() {
		w.s.tasks.start(w.unset)
	}
}

// unset takes the status away.
func (w *writer) unset(ctx context.Context) {
	if w.hasStatus() {
		w.setStatus(ctx, "")
	}
}

// learn notes that a method is refused for good: in one channel, or everywhere. It
// returns whether it is.
func (s *Slack) learn(method, channelID string, err error) bool {
	switch code := codeOf(err); {
	case unknownMethod(err), code == "missing_scope", code == "not_allowed_token_type", code == "method_deprecated":
		if !s.refused(method, "") {
			s.log.Info("slack does not offer this to the app; it is done without", "method", method, "error", err)
		}
		s.refusals.set(method+"/", code)
		return true
	case code == "invalid_thread_ts", code == "thread_not_found", code == "message_not_found", code == "user_not_found":
		return true // the message is gone, or the person; that says nothing of the next
	case refusedForGood(err):
		s.refusals.set(method+"/"+channelID, code)
		return true
	}
	return false
}

// refused tells whether a method is known to be refused in a channel.
func (s *Slack) refused(method, channelID string) bool {
	if _, everywhere := s.refusals.find(method + "/"); everywhere {
		return true
	}
	_, here := s.refusals.find(method + "/" + channelID)
	return here
}
