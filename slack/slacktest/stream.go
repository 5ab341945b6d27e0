// Streamed messages and the status line (reference/methods/chat.startStream, chat.appendStream,
// chat.stopStream, assistant.threads.setStatus).
package slacktest

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

const statusLife = 2 * time.Minute // reference/methods/assistant.threads.setStatus

type status struct {
	text  string
	since time.Time
}

// startStream starts a message. Outside of direct messages it requires a recipient, and it must
// always be a reply ("should always be replies"; that this is required is judgement: the page said
// so when the method was new, and later lets channels go without).
func (s *Server) startStream(a args) answer {
	c := s.postableLocked(a["channel"])
	a.need("thread_ts")
	thread := s.threadLocked(c, a["thread_ts"])
	if c.kind != "im" || a["recipient_user_id"] != "" {
		refuseIf(a["recipient_user_id"] == "", "missing_recipient_user_id")
		refuseIf(a["recipient_team_id"] == "", "missing_recipient_team_id")
		refuseIf(s.users[a["recipient_user_id"]] == nil, "user_not_found")
	}
	m := s.ownMessageLocked(c, thread, content{text: streamed(a)})
	m.Streamed, m.Streaming = true, true
	s.addMessageLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS}
}

func (s *Server) appendStream(a args) answer {
	c, m := s.streamLocked(a)
	text := streamed(a)
	refuseIf(text == "", "no_text")
	m.extend(text)
	return answer{"channel": c.id, "ts": m.TS}
}

// stopStream ends a message, optionally with more text. The app gets a message_changed event
// (judgement); appending causes none.
func (s *Server) stopStream(a args) answer {
	c, m := s.streamLocked(a)
	text := streamed(a)
	if a["metadata"] != "" {
		checkMetadata(a["metadata"])
	}
	refuseIf(m.Text+text == "", "no_text")
	before := s.objectLocked(m, false)
	m.extend(text)
	m.Streaming = false
	if a["metadata"] != "" {
		m.Metadata = json.RawMessage(a["metadata"])
	}
	s.watchPingsLocked(content{text: m.Text})
	s.changedLocked(c, before, s.objectLocked(m, false))
	return answer{"channel": c.id, "ts": m.TS, "message": s.objectLocked(m, true)}
}

// streamLocked returns the app's message that is being streamed.
func (s *Server) streamLocked(a args) (*channel, *Message) {
	c, m := s.ownLocked(a, "message_not_owned_by_app")
	refuseIf(m.stopped, "stopped_by_user")
	refuseIf(!m.Streaming, "message_not_in_streaming_state")
	return c, m
}

// extend appends text. The limit of one markdown_text also applies to the whole message (judgement:
// the pages state it per call).
func (m *Message) extend(text string) {
	refuseIf(utf8.RuneCountInString(m.Text+text) > maxMarkdown, "msg_too_long")
	m.Text += text
}

// streamed returns markdown_text, within its limit.
func streamed(a args) string {
	text := a["markdown_text"]
	refuseIf(utf8.RuneCountInString(text) > maxMarkdown, "msg_too_long")
	return text
}

// setStatus shows a line such as "is thinking…" in a thread until the app posts there. An empty
// status clears it.
func (s *Server) setStatus(a args) answer {
	c := s.channels[a["channel_id"]]
	refuseIf(c == nil, "channel_not_found")
	refuseIf(c.find(a["thread_ts"]) == nil, "invalid_thread_ts")
	if _, given := a["status"]; !given {
		a.need("status")
	}
	s.statuses[place{c.id, a["thread_ts"]}] = status{a["status"], time.Now()}
	return nil
}
