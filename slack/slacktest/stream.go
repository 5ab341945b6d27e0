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
func (s *Server) startStream(a args) (answer, error) {
	c, err := s.postableLocked(a["channel"])
	if err != nil {
		return nil, err
	}
	if err := a.need("thread_ts"); err != nil {
		return nil, err
	}
	thread, err := s.threadLocked(c, a["thread_ts"])
	if err != nil {
		return nil, err
	}
	if c.kind != "im" || a["recipient_user_id"] != "" {
		switch {
		case a["recipient_user_id"] == "":
			return nil, refuse("missing_recipient_user_id")
		case a["recipient_team_id"] == "":
			return nil, refuse("missing_recipient_team_id")
		case s.users[a["recipient_user_id"]] == nil:
			return nil, refuse("user_not_found")
		}
	}
	text, err := streamed(a)
	if err != nil {
		return nil, err
	}
	m := s.ownMessageLocked(c, thread, content{text: text})
	m.Streamed, m.Streaming = true, true
	s.addMessageLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS}, nil
}

func (s *Server) appendStream(a args) (answer, error) {
	c, m, err := s.streamLocked(a)
	if err != nil {
		return nil, err
	}
	text, err := streamed(a)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, refuse("no_text")
	}
	if err := m.extend(text); err != nil {
		return nil, err
	}
	return answer{"channel": c.id, "ts": m.TS}, nil
}

// stopStream ends a message, optionally with more text. The app gets a message_changed event
// (judgement); appending causes none.
func (s *Server) stopStream(a args) (answer, error) {
	c, m, err := s.streamLocked(a)
	if err != nil {
		return nil, err
	}
	text, err := streamed(a)
	if err != nil {
		return nil, err
	}
	if a["metadata"] != "" {
		if err := checkMetadata(a["metadata"]); err != nil {
			return nil, err
		}
	}
	if m.Text+text == "" {
		return nil, refuse("no_text")
	}
	before := s.objectLocked(m, false)
	if err := m.extend(text); err != nil {
		return nil, err
	}
	m.Streaming = false
	if a["metadata"] != "" {
		m.Metadata = json.RawMessage(a["metadata"])
	}
	s.watchPingsLocked(content{text: m.Text})
	s.changedLocked(c, before, s.objectLocked(m, false))
	return answer{"channel": c.id, "ts": m.TS, "message": s.objectLocked(m, true)}, nil
}

// streamLocked returns the app's message that is being streamed.
func (s *Server) streamLocked(a args) (*channel, *Message, error) {
	c, m, err := s.ownLocked(a, "message_not_owned_by_app")
	if err != nil {
		return nil, nil, err
	}
	if m.stopped {
		return nil, nil, refuse("stopped_by_user")
	}
	if !m.Streaming {
		return nil, nil, refuse("message_not_in_streaming_state")
	}
	return c, m, nil
}

// extend appends text. The limit of one markdown_text also applies to the whole message (judgement:
// the pages state it per call).
func (m *Message) extend(text string) error {
	if utf8.RuneCountInString(m.Text+text) > maxMarkdown {
		return refuse("msg_too_long")
	}
	m.Text += text
	return nil
}

// streamed returns markdown_text, within its limit.
func streamed(a args) (string, error) {
	text := a["markdown_text"]
	if utf8.RuneCountInString(text) > maxMarkdown {
		return "", refuse("msg_too_long")
	}
	return text, nil
}

// setStatus shows a line such as "is thinking…" in a thread until the app posts there. An empty
// status clears it.
func (s *Server) setStatus(a args) (answer, error) {
	c := s.channels[a["channel_id"]]
	if c == nil {
		return nil, refuse("channel_not_found")
	}
	if c.find(a["thread_ts"]) == nil {
		return nil, refuse("invalid_thread_ts")
	}
	if _, given := a["status"]; !given {
		return nil, a.need("status")
	}
	s.statuses[place{c.id, a["thread_ts"]}] = status{a["status"], time.Now()}
	return nil, nil
}
