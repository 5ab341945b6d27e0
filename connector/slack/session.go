// Sessions are what Slack shows of the threads in which an agent works: a status, a title, and a button that stops it
// (ai/agent-sessions). Only an app that is declared as an agent has them.

package slack

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// sessions sets the status of threads, in the way in which Slack lets the app do it.
type sessions struct {
	base *platform.Base
	api  *api
	self *self

	refused    refusal        // of agents.sessions.setStatus
	wordless   refusal        // of assistant.threads.setStatus
	unnamed    refusal        // of agents.sessions.rename
	promptless refusal        // of assistant.threads.setSuggestedPrompts
	warned     atomic.Bool    // that the event of the stop button is missing
	busy       platform.Cache // the answered message, by thread: of one that has been answered there lately, a title would not count
}

// refusal remembers that Slack refuses a method to the app, so that it is not called for each answer. It is safe for concurrent use.
type refusal struct{ until atomic.Int64 }

func (r *refusal) holds() bool { return time.Now().UnixNano() < r.until.Load() }

// placeCodes are the error codes of a status that concern one place, or what is said there and by whom.
var placeCodes = []string{
	"channel_not_found", "not_in_channel", "invalid_thread_ts", "thread_not_found", "message_not_found", "channel_type_not_supported",
	"user_not_in_channel", "user_not_found", "session_not_found", "invalid_arguments",
}

// note notes the error of a call, and reports whether Slack refused it.
func (r *refusal) note(err error) (refused bool) {
	refused = isRefused(err)
	if refused && !slices.Contains(placeCodes, codeOf(err)) {
		r.until.Store(time.Now().Add(refusedFor).UnixNano())
	}
	return refused
}

// exist reports whether the app has sessions, as far as is known.
func (s *sessions) exist() bool { return s.self.agent && !s.refused.holds() }

// unsubscribed is Slack's warning that it shows no stop button (reference/events/agent_session_stopped).
const unsubscribed = "missing_agent_session_stopped_event_subscription"

const maxTitle = 60 // characters of a title; Slack accepts 200

// begin shows that the bot works in a thread. It returns false if Slack does not show that.
func (s *sessions) begin(ctx context.Context, conversation string, thread chat.Place, answers, person string) bool {
	if !s.exist() || thread.Thread == "" {
		return false
	}
	title := ""
	if _, known := s.busy.Find(thread.String()); !known {
		said, _, err := channel.Said(ctx, s.base.Hub, conversation, answers)
		if err != nil {
			s.base.Log.Debug("read_title_failed", "error", err)
		}
		title = platform.Short(strings.Join(strings.Fields(said), " "), maxTitle)
	}
	s.busy.Set(thread.String(), answers)
	// Half of the rate limit is left to the ends of sessions.
	set, err := s.api.once.SetAgentSessionStatusContext(background(ctx, nil), slackgo.AgentSessionSetStatusParameters{
		ChannelID: thread.Channel, ThreadTS: thread.Thread, Status: slackgo.AgentSessionStatusProcessing, Title: title, InitiatorUserID: person,
	})
	s.refused.note(err)
	if err == nil && slices.Contains(strings.Split(set.Warning, ","), unsubscribed) && !s.warned.Swap(true) {
		s.base.Log.Warn("stop_button_missing", "problem", "the app does not get the event agent_session_stopped", "remedy", clickStop)
	}
	return err == nil || mayHaveTakenEffect(err)
}

// end shows that the reply to a message is no longer worked on in a thread. If Slack does not answer, it is tried again in the background:
// Slack would show a stop button for an hour.
func (s *sessions) end(ctx context.Context, thread chat.Place, answers string) {
	if thread.Thread == "" || s.tryEnd(ctx, thread) {
		return
	}
	s.base.Work.Start(func(ctx context.Context) {
		platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) {
			busy, _ := s.busy.Find(thread.String())
			return busy != answers && busy != "" || s.tryEnd(ctx, thread)
		})
	})
}

// tryEnd reports whether the session has ended, or never will.
func (s *sessions) tryEnd(ctx context.Context, thread chat.Place) bool {
	if !s.exist() {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout/3) // a shutdown waits for it
	defer cancel()
	_, err := s.api.write.SetAgentSessionStatusContext(ctx, slackgo.AgentSessionSetStatusParameters{
		ChannelID: thread.Channel, ThreadTS: thread.Thread, Status: slackgo.AgentSessionStatusActive,
	})
	return err == nil || s.refused.note(err)
}

// words sets the words of a status, for apps that are no agents; no words clear it. It returns false where Slack shows none.
func (s *sessions) words(ctx context.Context, thread chat.Place, text string) bool {
	if text != "" && s.wordless.holds() {
		return false
	}
	err := s.api.once.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{
		ChannelID: thread.Channel, ThreadTS: thread.Thread, Status: text,
	})
	return !s.wordless.note(err)
}
