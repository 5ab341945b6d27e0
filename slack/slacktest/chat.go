// chat.*: posting, editing and deleting messages of the app (reference/methods/chat.postMessage and
// its neighbours).
package slacktest

import (
	"net/http"
	"time"
	"unicode/utf8"
)

// postableLocked returns the channel that the app wants to post in. The app must be a member.
func (s *Server) postableLocked(id string) (*channel, error) {
	c := s.channels[id]
	if c == nil {
		return nil, refuse("channel_not_found")
	}
	if !c.has(BotUserID) {
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

// threadLocked returns the thread of a reply: its parent's TS. The error is that of
// conversations.replies (judgement: the pages of chat.* name none). The TS of a reply is mapped to
// its parent, although the page of chat.postMessage asks to avoid that.
func (s *Server) threadLocked(c *channel, ts string) (string, error) {
	if ts == "" {
		return "", nil
	}
	parent := c.find(ts)
	if parent == nil {
		return "", refuse("thread_not_found")
	}
	if parent.Thread != "" {
		s.complainLocked("thread_ts %s is a reply, not a parent", ts)
		return parent.Thread, nil
	}
	return ts, nil
}

// paceLocked rejects posts that follow each other too fast in one channel
// (apis/web-api/rate-limits).
func (s *Server) paceLocked(c *channel) error {
	wait := s.opt.PostEvery - time.Since(s.posted[c.id])
	if s.opt.PostEvery > 0 && wait > 0 {
		return refusal{code: "ratelimited", status: http.StatusTooManyRequests, retryAfter: wait}
	}
	s.posted[c.id] = time.Now()
	return nil
}

// writtenLocked returns the message that the app wants to post, and its channel.
func (s *Server) writtenLocked(a args) (*channel, *Message, error) {
	c, err := s.postableLocked(a["channel"])
	if err != nil {
		return nil, nil, err
	}
	said, err := s.contentLocked(a)
	if err != nil {
		return nil, nil, err
	}
	thread, err := s.threadLocked(c, a["thread_ts"])
	if err != nil {
		return nil, nil, err
	}
	return c, s.ownMessageLocked(c, thread, said), nil
}

func (s *Server) postMessage(a args) (answer, error) {
	c, m, err := s.writtenLocked(a)
	if err != nil {
		return nil, err
	}
	if err := s.paceLocked(c); err != nil {
		return nil, err
	}
	s.addMessageLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS, "message": s.objectLocked(m, true)}, nil
}

// ownMessageLocked returns a new message of the app.
func (s *Server) ownMessageLocked(c *channel, thread string, said content) *Message {
	return &Message{
		Channel: c.id, TS: s.tsLocked(), Thread: thread, User: BotUserID, BotID: BotID,
		Text: said.text, Blocks: said.blocks, Metadata: said.metadata,
	}
}

// ownLocked returns one of the app's messages; notOwn is the error if it belongs to someone else.
func (s *Server) ownLocked(a args, notOwn string) (*channel, *Message, error) {
	c, err := s.postableLocked(a["channel"])
	if err != nil {
		return nil, nil, err
	}
	m := c.find(a["ts"])
	if m == nil {
		return nil, nil, refuse("message_not_found")
	}
	if !m.own() {
		return nil, nil, refuse(notOwn)
	}
	return c, m, nil
}

func (s *Server) updateMessage(a args) (answer, error) {
	c, m, err := s.ownLocked(a, "cant_update_message")
	if err != nil {
		return nil, err
	}
	if m.Streaming {
		return nil, refuse("streaming_state_conflict")
	}
	if utf8.RuneCountInString(a["text"]) > advisedText {
		return nil, refuse("msg_too_long")
	}
	said, err := s.contentLocked(a)
	if err != nil {
		return nil, err
	}
	s.changeLocked(c, m, func() {
		m.Text, m.Blocks = said.text, said.blocks
		if said.metadata != nil { // otherwise the old metadata stays
			m.Metadata = said.metadata
		}
	})
	return answer{"channel": c.id, "ts": m.TS, "text": m.Text, "message": s.objectLocked(m, true)}, nil
}

// deleteMessage rejects a message that is still being streamed (observed by others on Slack in
// 2026; no document says so): chat.stopStream must come first.
func (s *Server) deleteMessage(a args) (answer, error) {
	c, m, err := s.ownLocked(a, "cant_delete_message")
	if err != nil {
		return nil, err
	}
	if m.Streaming {
		return nil, refuse("cant_delete_message")
	}
	s.deleteLocked(c, m)
	return answer{"channel": c.id, "ts": m.TS}, nil
}

// postEphemeral shows a message to one person. It is not part of the history and cannot be edited.
func (s *Server) postEphemeral(a args) (answer, error) {
	if err := a.need("user"); err != nil {
		return nil, err
	}
	c, m, err := s.writtenLocked(a)
	if err != nil {
		return nil, err
	}
	if !c.has(a["user"]) {
		return nil, refuse("user_not_in_channel")
	}
	m.OnlyFor = a["user"]
	c.messages = append(c.messages, m)
	return answer{"message_ts": m.TS}, nil
}
