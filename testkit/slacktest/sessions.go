// Sessions of an agent: the status and the title of a thread, and its stop button (ai/agent-sessions,
// reference/methods/agents.sessions.setStatus and agents.sessions.rename, reference/events/agent_session_stopped).

package slacktest

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// Session is an agent's session in a thread.
type Session struct {
	Status    string // one of sessionStatuses
	Title     string
	Initiator string
}

var sessionStatuses = []string{
	slack.AgentSessionStatusActive, slack.AgentSessionStatusProcessing, slack.AgentSessionStatusSuspended, slack.AgentSessionStatusClosed,
}

const (
	maxTitle   = 200 // characters (reference/methods/agents.sessions.rename)
	maxPrompts = 4   // reference/methods/assistant.threads.setSuggestedPrompts
)

// Session returns the session of a thread; ok is false if there is none.
func (s *Server) Session(channel, thread string) (session Session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.sessions[place{channel, thread}]
	if found == nil {
		return session, false
	}
	return *found, true
}

// Processing returns how many sessions are in this status: Slack keeps one there for an hour (observed by others in 2026).
func (s *Server) Processing() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if session.Status == slack.AgentSessionStatusProcessing {
			n++
		}
	}
	return n
}

// sessionPlaceLocked checks what both methods require: an app declared as an agent, that is a member of the channel, and a thread, by the
// message at its top. The error for other apps was observed by others in 2026; that for an unknown thread is a judgement.
func (s *Server) sessionPlaceLocked(a args) place {
	refuseIf(!s.opt.Agent, "not_authorized")
	a.need("channel_id")
	c := s.channels[a["channel_id"]]
	refuseIf(c == nil || !c.visible(), "channel_not_found")
	refuseIf(!c.has(BotUserID), "not_in_channel")
	a.need("thread_ts")
	root := c.find(a["thread_ts"])
	refuseIf(root == nil || root.Thread != "", "thread_not_found")
	return place{c.id, a["thread_ts"]}
}

// setSessionStatus: the title and the initiator count when the session is created. Without a subscription to the event there is a warning.
func (s *Server) setSessionStatus(a args) answer {
	at := s.sessionPlaceLocked(a)
	a.need("status")
	refuseIf(!slices.Contains(sessionStatuses, a["status"]), "invalid_arguments", "[ERROR] must be a valid enum value [json-pointer:/status]")
	refuseIf(utf8.RuneCountInString(a["title"]) > maxTitle, "invalid_arguments", "[ERROR] must be less than 201 characters [json-pointer:/title]")
	initiator := a["initiator_user_id"]
	refuseIf(initiator != "" && !s.channels[at.channel].has(initiator), "user_not_in_channel") // judgement: the page names no error
	session := s.sessions[at]
	if session == nil {
		session = &Session{Title: a["title"], Initiator: initiator}
		s.sessions[at] = session
	}
	session.Status = a["status"]
	said := answer{"status": session.Status, "agent_status": session.Status, "title": session.Title}
	if s.opt.Unsubscribed {
		said["warning"] = "missing_agent_session_stopped_event_subscription"
	}
	return said
}

func (s *Server) renameSession(a args) answer {
	at := s.sessionPlaceLocked(a)
	a.need("title")
	refuseIf(utf8.RuneCountInString(a["title"]) > maxTitle, "invalid_arguments", "[ERROR] must be less than 201 characters [json-pointer:/title]")
	session := s.sessions[at]
	refuseIf(session == nil, "session_not_found")
	session.Title = a["title"]
	return answer{"title": session.Title}
}

// streamingLocked: an agent's stream makes a session, or one that exists busy (observed by others in 2026; no document says so).
func (s *Server) streamingLocked(c *channel, m *Message) {
	if s.opt.Agent {
		s.sessionLocked(c, m).Status = slack.AgentSessionStatusProcessing
	}
}

// stoppedLocked: the status after the end of a stream is an argument, by default active (reference/methods/chat.stopStream).
func (s *Server) stoppedLocked(c *channel, m *Message, status string) {
	refuseIf(status != "" && !slices.Contains(sessionStatuses, status), "invalid_arguments", "[ERROR] must be a valid enum value [json-pointer:/session_status]")
	if status == "" {
		status = slack.AgentSessionStatusActive
	}
	if s.opt.Agent {
		s.sessionLocked(c, m).Status = status
	}
}

func (s *Server) sessionLocked(c *channel, m *Message) *Session {
	at := place{c.id, m.Thread}
	if s.sessions[at] == nil {
		s.sessions[at] = &Session{}
	}
	return s.sessions[at]
}

// StopSession is a person's click on the stop button of the app's session in a thread, which Slack shows while the session is processing,
// if the app is subscribed to the event: the streams there accept no more text, the app gets the event, and the status stays
// (reference/events/agent_session_stopped). It returns the event_id.
func (s *Server) StopSession(channelID, thread, person string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.sessions[place{channelID, thread}]
	if session == nil || session.Status != slack.AgentSessionStatusProcessing || s.opt.Unsubscribed {
		panic("slacktest: no stop button in thread " + thread)
	}
	return s.stopLocked(channelID, thread, person)
}

// StopAgain is the second of two quick clicks: the button may be gone by then.
func (s *Server) StopAgain(channelID, thread, person string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopLocked(channelID, thread, person)
}

func (s *Server) stopLocked(channelID, thread, person string) string {
	c := s.mustChannelLocked(channelID)
	streams := []string{}
	for _, m := range c.thread(thread) {
		if m.Streaming {
			m.Streaming = false
			m.stopped = true
			streams = append(streams, m.TS)
		}
	}
	return s.emitLocked(map[string]any{
		"type": "agent_session_stopped", "channel": c.id, "thread_ts": thread, "user": person,
		"streaming_message_ts": streams, "event_ts": s.tsLocked(),
	})
}

// setPrompts: with thread_ts the call silently fails for an agent (reference/methods/assistant.threads.setSuggestedPrompts). That other
// apps are refused is a judgement.
func (s *Server) setPrompts(a args) answer {
	c := s.channels[a["channel_id"]]
	refuseIf(c == nil || c.kind != "im", "channel_not_found")
	refuseIf(!s.opt.Agent, "not_authorized")
	var prompts []slack.AssistantThreadsPrompt
	refuseIf(json.Unmarshal([]byte(a["prompts"]), &prompts) != nil || len(prompts) == 0 || len(prompts) > maxPrompts, "invalid_arguments")
	for _, p := range prompts {
		refuseIf(p.Title == "" || p.Message == "", "invalid_arguments")
	}
	if a["thread_ts"] == "" {
		s.prompts[c.id] = prompts
	}
	return nil
}

// Prompts returns the prompts that the app suggests in a direct message.
func (s *Server) Prompts(channel string) []slack.AssistantThreadsPrompt {
	return locked(s, func() []slack.AssistantThreadsPrompt { return s.prompts[channel] })
}

// Open makes a person open the direct message with the app, or another tab (reference/events/app_home_opened).
func (s *Server) Open(person, tab string) {
	s.do(func() {
		id := s.dmLocked(person)
		if !s.opt.Unsubscribed {
			s.emitLocked(map[string]any{"type": "app_home_opened", "user": person, "channel": id, "event_ts": s.tsLocked(), "tab": tab})
		}
	})
}
