// Actions of people in the workspace, and the resulting events.

package slacktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"cairn/testkit/loopback"
)

// Post is a message of a person or another bot.
type Post struct {
	Channel string
	User    string // empty: an incoming webhook, whose messages have the subtype bot_message
	Text    string
	Thread  string // TS of the parent; empty: no reply
	Files   []File
	Untold  bool // its events are lost and not redelivered

	Blocks, Attachments json.RawMessage // of an app
}

// Say posts a message and returns its TS. The app gets a `message` event if it is in the channel, and also an
// `app_mention` event, with another event_id and the same ts, if it is mentioned outside of direct messages
// (reference/events/app_mention). Like all helpers, it panics on unknown ids.
func (s *Server) Say(p Post) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannelLocked(p.Channel)
	m := &Message{Channel: c.id, TS: s.tsLocked(), Thread: p.Thread, User: p.User, Text: p.Text}
	if p.User == "" {
		m.BotID = s.idLocked("B")
	} else {
		m.BotID = s.mustUserLocked(p.User).Profile.BotID
	}
	m.Blocks, m.Attachments = knownBlocks(p.Blocks), knownAttachments(p.Attachments)
	if p.Thread != "" && c.find(p.Thread) == nil {
		panic("slacktest: no message " + p.Thread)
	}
	for _, f := range p.Files {
		m.Files = append(m.Files, s.addFileLocked(f, p.User))
	}
	if p.Untold {
		c.messages = append(c.messages, m)
		return m.TS
	}
	s.addMessageLocked(c, m)
	s.mentionLocked(c, m, m.TS)
	return m.TS
}

// mentionLocked sends the app_mention event of a message that mentions the app.
func (s *Server) mentionLocked(c *channel, m *Message, at string) {
	if c.kind == "im" || m.own() || !strings.Contains(m.Text, "<@"+BotUserID+">") {
		return
	}
	mention := s.objectLocked(m, false)
	mention["type"] = "app_mention"
	mention["channel"] = c.id
	mention["event_ts"] = at
	delete(mention, "subtype")
	s.eventLocked(c, mention)
}

// Burst posts n messages in a row, with " #1" to " #n" appended to the text. It returns their timestamps.
func (s *Server) Burst(n int, p Post) (sent []string) {
	for i := range n {
		numbered := p
		numbered.Text = fmt.Sprintf("%s #%d", p.Text, i+1)
		sent = append(sent, s.Say(numbered))
	}
	return sent
}

// addMessageLocked also sends the event of the app's own messages, which clear the status of their thread.
func (s *Server) addMessageLocked(c *channel, m *Message) {
	if m.own() {
		delete(s.statuses, place{c.id, m.Thread})
	}
	c.messages = append(c.messages, m)
	event := s.objectLocked(m, false)
	event["channel"] = c.id
	event["channel_type"] = c.kind
	event["event_ts"] = m.TS
	s.eventLocked(c, event)
}

// Edit changes the text of a message: a message_changed event (reference/events/message/message_changed) and, if the text then
// mentions the app, an app_mention event with the same ts and the field edited (no document says so; seen by slackapi/bolt-js#960).
func (s *Server) Edit(channelID, ts, text string) {
	s.act(channelID, ts, func(c *channel, m *Message) {
		s.changeLocked(c, m, func() { m.Text = text })
		s.mentionLocked(c, m, m.edited)
	})
}

// Unfurl sends the event of a change without a new text: a link got a preview.
func (s *Server) Unfurl(channelID, ts string) {
	s.act(channelID, ts, func(c *channel, m *Message) {
		object := s.objectLocked(m, false)
		s.changedLocked(c, object, object)
	})
}

func (s *Server) changeLocked(c *channel, m *Message, change func()) {
	before := s.objectLocked(m, false)
	change()
	m.Edits, m.edited = m.Edits+1, s.tsLocked()
	s.changedLocked(c, before, s.objectLocked(m, false))
}

func (s *Server) changedLocked(c *channel, before, now map[string]any) {
	at := s.tsLocked()
	s.eventLocked(c, map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.id, "channel_type": c.kind,
		"ts": at, "event_ts": at, "message": now, "previous_message": before,
	})
}

// Delete deletes a message: a message_deleted event, or, for the parent of a thread with replies, a
// message_changed whose inner message has the subtype tombstone (no document says so; Slack's
// clients show "This message was deleted"). Histories contain the tombstone too.
func (s *Server) Delete(channelID, ts string) { s.act(channelID, ts, s.deleteLocked) }

func (s *Server) deleteLocked(c *channel, m *Message) {
	before := s.objectLocked(m, false)
	if len(c.thread(m.TS)) > 1 {
		m.User = "USLACKBOT"
		m.Text = "This message was deleted."
		m.BotID = ""
		m.Blocks = nil
		m.Files = nil
		m.tomb = true
		s.changedLocked(c, before, s.objectLocked(m, false))
		return
	}
	m.Deleted = true
	at := s.tsLocked()
	s.eventLocked(c, map[string]any{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c.id, "channel_type": c.kind,
		"ts": at, "event_ts": at, "deleted_ts": m.TS, "previous_message": before,
	})
}

// StopStream is a person's click on the stop button of a streamed message: it accepts no more text.
func (s *Server) StopStream(channelID, ts string) {
	s.act(channelID, ts, func(_ *channel, m *Message) {
		m.Streaming = false
		m.stopped = true
	})
}

// EndStream: Slack ends one open for 5 min or 30 s without text (observed by others on Slack in 2026; no document says so).
func (s *Server) EndStream(channelID, ts string) {
	s.act(channelID, ts, func(_ *channel, m *Message) { m.Streaming = false })
}

// Join adds a person, or the app, to a channel. A message tells the app that it was added (reference/events/message/channel_join);
// the double sends none about others.
func (s *Server) Join(channel, person string) {
	s.do(func() {
		c := s.mustChannelLocked(channel)
		c.members = append(c.members, person)
		if person == BotUserID {
			s.systemMessageLocked(c, "channel_join", person)
		}
	})
}

// systemMessageLocked sends the event of a message that no one wrote. The double's histories lack such messages.
func (s *Server) systemMessageLocked(c *channel, subtype, person string) {
	at := s.tsLocked()
	s.eventLocked(c, map[string]any{
		"type": "message", "subtype": subtype, "channel": c.id, "channel_type": c.kind, "user": person, "ts": at, "event_ts": at,
	})
}

// Leave removes a person, or the app, from a channel.
func (s *Server) Leave(channel, person string) {
	s.do(func() {
		c := s.mustChannelLocked(channel)
		c.members = slices.DeleteFunc(c.members, func(m string) bool { return m == person })
	})
}

// Lose has Slack lose the next n events of channels.
func (s *Server) Lose(n int) { s.do(func() { s.lose += n }) }

// StartHuddle starts a huddle in a channel, and returns the TS of its message (no document describes it; as seen in events of 2025).
func (s *Server) StartHuddle(channel, person string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{Channel: channel, TS: s.tsLocked(), User: "USLACKBOT"}
	m.room = map[string]any{
		"call_family": "huddle", "created_by": person, "date_start": time.Now().Unix(), "date_end": 0, "has_ended": false,
		"participants": []string{person}, "participant_history": []string{person}, "thread_root_ts": m.TS,
	}
	s.addMessageLocked(s.mustChannelLocked(channel), m)
	return m.TS
}

// EndHuddle ends it after a time, in which others took part. The event shows the new room in both versions of the message.
func (s *Server) EndHuddle(channelID, ts string, after time.Duration, others ...string) {
	s.act(channelID, ts, func(c *channel, m *Message) {
		began, _ := m.room["date_start"].(int64)
		m.room["date_end"] = began + int64(after/time.Second)
		m.room["has_ended"] = true
		m.room["participants"] = []string{}
		m.room["participant_history"] = append(m.room["participant_history"].([]string), others...)
		s.changeLocked(c, m, func() {})
	})
}

// RenameUser changes a person's display name (reference/events/user_profile_changed).
func (s *Server) RenameUser(id, name string) {
	s.do(func() {
		u := s.mustUserLocked(id)
		u.Profile.DisplayName = name
		s.emitLocked(map[string]any{"type": "user_profile_changed", "user": u, "event_ts": s.tsLocked()})
	})
}

// RenameChannel changes a channel's name (reference/events/channel_rename, reference/events/group_rename).
func (s *Server) RenameChannel(id, name string) {
	s.do(func() {
		c := s.mustChannelLocked(id)
		c.name = name
		kind := map[bool]string{true: "channel_rename", false: "group_rename"}[c.kind == "channel"]
		s.emitLocked(map[string]any{"type": kind, "channel": map[string]any{"id": id, "name": name, "created": 1360782804}, "event_ts": s.tsLocked()})
	})
}

// Emit sends the app an event of any type and returns its event_id.
func (s *Server) Emit(event map[string]any) string {
	return locked(s, func() string { return s.emitLocked(event) })
}

// eventLocked sends an event of a channel, if the app is a member and has the required scope.
func (s *Server) eventLocked(c *channel, event map[string]any) {
	kind, _ := event["type"].(string)
	if s.lose > 0 {
		s.lose--
		return
	}
	if c.has(BotUserID) && s.receives(c, kind) {
		s.emitLocked(event)
	}
}

// emitLocked wraps an event as described in apis/events-api#event-type-structure.
func (s *Server) emitLocked(event map[string]any) string {
	id := s.idLocked("Ev")
	s.deliverLocked(kindEvent, id, loopback.Encode(map[string]any{
		"token": "verification", "team_id": TeamID, "api_app_id": AppID, "type": "event_callback", "event": event,
		"event_id": id, "event_time": time.Now().Unix(), "is_ext_shared_channel": false,
		"authorizations": []map[string]any{{"team_id": TeamID, "user_id": BotUserID, "is_bot": true}},
	}))
	return id
}

func (s *Server) mustUserLocked(id string) *slack.User { return loopback.Must(s.users, id, "user") }
func (s *Server) mustChannelLocked(id string) *channel {
	return loopback.Must(s.channels, id, "channel")
}

func (s *Server) act(channelID, ts string, f func(c *channel, m *Message)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannelLocked(channelID)
	m := c.find(ts)
	if m == nil {
		panic("slacktest: no message " + ts + " in " + channelID)
	}
	f(c, m)
}

func (c *channel) has(person string) bool { return slices.Contains(c.members, person) }
