// chat.*: posting, editing, deleting and streaming messages of the app (reference/methods/chat.postMessage
// and its neighbours), and the status line (reference/methods/assistant.threads.setStatus).

package slacktest

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

func (s *Server) postableLocked(id string) *channel {
	c := s.channels[id]
	refuseIf(c == nil || !c.visible(), "channel_not_found")
	refuseIf(!c.has(BotUserID), "not_in_channel")
	return c
}

// Restrict makes a channel refuse the app's posts with a code: is_archived, restricted_action or one of those that begin with it
// (Errors of reference/methods/chat.postMessage and chat.startStream); "" ends that. A change of who may post, and of the archive,
// comes as a message (reference/events/message/channel_archive and its neighbours).
func (s *Server) Restrict(channelID, code string) {
	s.do(func() {
		c := s.mustChannelLocked(channelID)
		told := "channel_posting_permissions"
		switch "is_archived" {
		case code:
			told = "channel_archive"
		case c.restriction:
			told = "channel_unarchive"
		}
		c.restriction = code
		s.systemMessageLocked(c, told, "U000000000")
	})
}

// refuseRestricted refuses a post to a place. The page of chat.postEphemeral names neither read-only nor thread-only channels
// (Errors of reference/methods/chat.postEphemeral), so there such a message is accepted.
func (c *channel) refuseRestricted(thread string, ephemeral bool) {
	switch c.restriction {
	case "restricted_action_read_only_channel":
		refuseIf(!ephemeral, c.restriction)
	case "restricted_action_thread_only_channel":
		refuseIf(!ephemeral && thread == "", c.restriction)
	case "restricted_action_thread_locked", "restricted_action_non_threadable_channel":
		refuseIf(!ephemeral && thread != "", c.restriction)
	default:
		refuseIf(c.restriction != "", c.restriction)
	}
}

// threadLocked returns the thread of a reply: its parent's TS. The error is that of conversations.replies (judgement: the pages
// of chat.* name none). The TS of a reply is mapped to its parent, although the page of chat.postMessage asks to avoid that.
func (s *Server) threadLocked(c *channel, ts string) string {
	if ts == "" {
		return ""
	}
	parent := c.find(ts)
	refuseIf(parent == nil, "thread_not_found")
	if parent.Thread != "" {
		s.complainLocked("thread_ts %s is a reply, not a parent", ts)
		return parent.Thread
	}
	return ts
}

func (s *Server) writtenLocked(a args, ephemeral bool) (*channel, *Message) {
	c := s.postableLocked(a["channel"])
	c.refuseRestricted(a["thread_ts"], ephemeral)
	said := s.contentLocked(a)
	thread := s.threadLocked(c, a["thread_ts"])
	return c, s.ownMessageLocked(c, thread, said)
}

// postMessage opens a direct message if the channel is a person (reference/methods/chat.postMessage, Channels).
func (s *Server) postMessage(a args) answer {
	if s.users[a["channel"]] != nil {
		a["channel"] = s.dmLocked(a["channel"])
	}
	c, m := s.writtenLocked(a, false)
	s.addMessageLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS, "message": s.objectLocked(m, true)}
}

func (s *Server) ownMessageLocked(c *channel, thread string, said content) *Message {
	return &Message{
		Channel: c.id, TS: s.tsLocked(), Thread: thread, User: BotUserID, BotID: BotID,
		Text: said.text, Blocks: said.blocks, Metadata: said.metadata,
	}
}

// ownLocked returns one of the app's messages; notOwn is the error if it belongs to someone else.
func (s *Server) ownLocked(a args, notOwn string) (*channel, *Message) {
	c := s.postableLocked(a["channel"])
	m := c.find(a["ts"])
	refuseIf(m == nil, "message_not_found")
	refuseIf(!m.own(), notOwn)
	return c, m
}

func (s *Server) updateMessage(a args) answer {
	c, m := s.ownLocked(a, "cant_update_message")
	refuseIf(m.Streaming, "streaming_state_conflict")
	refuseIf(m.stopped && s.opt.KeepsStopped, "cant_update_message")
	refuseIf(utf8.RuneCountInString(a["text"]) > advisedText, "msg_too_long")
	said := s.contentLocked(a)
	s.changeLocked(c, m, func() {
		m.Text = said.text
		m.Blocks = said.blocks
		if said.metadata != nil { // otherwise the old metadata stays
			m.Metadata = said.metadata
		}
	})
	return answer{"channel": c.id, "ts": m.TS, "text": m.Text, "message": s.objectLocked(m, true)}
}

// deleteMessage rejects an open stream (observed by others on Slack in 2026; no document says so).
func (s *Server) deleteMessage(a args) answer {
	c, m := s.ownLocked(a, "cant_delete_message")
	refuseIf(m.Streaming, "cant_delete_message")
	s.deleteLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS}
}

// postEphemeral shows a message to one person. It is not part of the history and cannot be edited.
func (s *Server) postEphemeral(a args) answer {
	a.need("user")
	c, m := s.writtenLocked(a, true)
	refuseIf(!c.has(a["user"]), "user_not_in_channel")
	m.OnlyFor = a["user"]
	c.messages = append(c.messages, m)
	return answer{"message_ts": m.TS}
}

// startStream starts a message. Outside of direct messages it requires a recipient, and it must always be a reply ("should always
// be replies"; that this is required is judgement: the page said so when the method was new, and later lets channels go without).
func (s *Server) startStream(a args) answer {
	c := s.postableLocked(a["channel"])
	a.need("thread_ts")
	c.refuseRestricted(a["thread_ts"], false)
	thread := s.threadLocked(c, a["thread_ts"])
	if c.kind != "im" || a["recipient_user_id"] != "" {
		refuseIf(a["recipient_user_id"] == "", "missing_recipient_user_id")
		refuseIf(a["recipient_team_id"] == "", "missing_recipient_team_id")
		refuseIf(s.users[a["recipient_user_id"]] == nil, "user_not_found")
	}
	m := s.ownMessageLocked(c, thread, content{})
	m.extend(a["markdown_text"])
	m.Streamed = true
	m.Streaming = true
	s.streamingLocked(c, m)
	s.addMessageLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS}
}

func (s *Server) appendStream(a args) answer {
	c, m := s.streamLocked(a)
	text := a["markdown_text"]
	refuseIf(text == "", "no_text")
	m.extend(text)
	return answer{"channel": c.id, "ts": m.TS}
}

// stopStream ends a message, optionally with more text. The app gets a message_changed event (judgement); appending causes none.
func (s *Server) stopStream(a args) answer {
	c, m := s.streamLocked(a)
	text := a["markdown_text"]
	if a["metadata"] != "" {
		checkMetadata(a["metadata"])
	}
	refuseIf(m.Text+text == "", "no_text")
	if a["blocks"] != "" { // shown at the bottom of the message
		checkBlocks(a["blocks"])
		m.Blocks = json.RawMessage(a["blocks"])
	}
	before := s.objectLocked(m, false)
	m.extend(text)
	s.stoppedLocked(c, m, a["session_status"])
	m.Streaming = false
	if a["metadata"] != "" {
		m.Metadata = json.RawMessage(a["metadata"])
	}
	s.watchPingsLocked(content{text: m.Text})
	s.changedLocked(c, before, s.objectLocked(m, false))
	return answer{"channel": c.id, "ts": m.TS, "message": s.objectLocked(m, true)}
}

func (s *Server) streamLocked(a args) (*channel, *Message) {
	c, m := s.ownLocked(a, "message_not_owned_by_app")
	refuseIf(m.stopped, "stopped_by_user")
	refuseIf(!m.Streaming, "message_not_in_streaming_state")
	return c, m
}

// extend appends text. The limit of one markdown_text also applies to the whole message: the pages state it per call, and others measured
// that Slack refuses more than some 12 000 characters of all calls (github.com/CopilotKit/CopilotKit/pull/6064).
func (m *Message) extend(text string) {
	refuseIf(utf8.RuneCountInString(m.Text+text) > maxMarkdown, "msg_too_long")
	m.Text += text
}

// setStatus shows a line until the app posts; an empty one clears it. That Slack removes it after two minutes is left out. For an agent
// it is bridged to its session until the method ends in February 2027 (ai/agent-sessions; which status is a judgement).
func (s *Server) setStatus(a args) answer {
	c := s.channels[a["channel_id"]]
	refuseIf(c == nil, "channel_not_found")
	refuseIf(c.find(a["thread_ts"]) == nil, "invalid_thread_ts")
	if _, given := a["status"]; !given {
		a.need("status")
	}
	at := place{c.id, a["thread_ts"]}
	s.statuses[at] = a["status"]
	if session := s.sessions[at]; session != nil {
		session.Status = slack.AgentSessionStatusProcessing
		if a["status"] == "" {
			session.Status = slack.AgentSessionStatusActive
		}
	}
	return nil
}
