// The workspace: people, channels and messages.

package slacktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

type channel struct {
	id, name string
	kind     string // channel, group, mpim or im
	with     string // of an im: the person
	members  []string
	messages []*Message // oldest first, including deleted ones

	restriction string // the error of a post; see Restrict
}

type place struct{ channel, ts string }

// Message is the current state of one message.
type Message struct {
	Channel     string
	TS          string
	Thread      string // the parent's TS; empty unless it is a reply
	User        string
	BotID       string
	Text        string // text or markdown_text
	Blocks      json.RawMessage
	Attachments json.RawMessage // of other apps
	Metadata    json.RawMessage
	Files       []string // ids
	Reactions   []string // emoji of the app
	OnlyFor     string   // the person who sees an ephemeral message
	Edits       int
	Streamed    bool // started with chat.startStream; its blocks are shown below its text
	Streaming   bool // not stopped yet
	Deleted     bool

	edited  string         // timestamp of the last edit
	tomb    bool           // deleted, but it has replies
	stopped bool           // a person has stopped the stream
	room    map[string]any // of a huddle
}

// Shown returns the text that people see: the text of the blocks if they have any.
func (m Message) Shown() string {
	blocks := blocksText(m.Blocks)
	switch {
	case blocks == "":
		return m.Text
	case m.Streamed:
		return m.Text + "\n" + blocks
	default:
		return blocks
	}
}

func (m *Message) own() bool { return m.BotID == BotID }

// AddUser adds a person and returns the user id.
func (s *Server) AddUser(name string) string {
	return locked(s, func() string { return s.addUserLocked(s.idLocked("U"), name, "") })
}

// AddBot adds another app's bot user and returns its user id. Its messages have a bot_id.
func (s *Server) AddBot(name string) string {
	return locked(s, func() string { return s.addUserLocked(s.idLocked("U"), name, s.idLocked("B")) })
}

// addUserLocked adds a person, or a bot if it has a bot_id.
func (s *Server) addUserLocked(id, name, botID string) string {
	s.people = append(s.people, id)
	profile := slack.UserProfile{DisplayName: name, RealName: name, BotID: botID}
	s.users[id] = &slack.User{ID: id, TeamID: TeamID, Name: name, RealName: name, IsBot: botID != "", TZ: "Etc/UTC", Profile: profile}
	return id
}

// AddChannel adds a public channel with the app and these people, and returns its id.
func (s *Server) AddChannel(name string, people ...string) string {
	return s.addChannel("channel", name, people)
}

// AddPrivateChannel is AddChannel for a private channel.
func (s *Server) AddPrivateChannel(name string, people ...string) string {
	return s.addChannel("group", name, people)
}

// AddGroupDM is AddChannel for a group direct message.
func (s *Server) AddGroupDM(people ...string) string { return s.addChannel("mpim", "mpdm-1", people) }

// DM returns the id of the direct message conversation of a person and the app.
func (s *Server) DM(person string) string {
	return locked(s, func() string { return s.dmLocked(person) })
}

func (s *Server) dmLocked(person string) string {
	for _, c := range s.channels {
		if c.with == person {
			return c.id
		}
	}
	return s.addChannelLocked(&channel{kind: "im", with: person, members: []string{BotUserID, person}})
}

func (s *Server) addChannel(kind, name string, people []string) string {
	return locked(s, func() string {
		return s.addChannelLocked(&channel{name: name, kind: kind, members: append([]string{BotUserID}, people...)})
	})
}

func (s *Server) addChannelLocked(c *channel) string {
	// Ids of direct messages start with D, those of all other conversations created today with C
	// (apis/web-api/using-the-conversations-api).
	c.id = s.idLocked(map[bool]string{true: "D", false: "C"}[c.kind == "im"])
	s.channels[c.id] = c
	s.order = append(s.order, c.id)
	return c.id
}

func (c *channel) find(ts string) *Message {
	for _, m := range slices.Backward(c.messages) {
		if m.TS == ts && !m.Deleted && m.OnlyFor == "" {
			return m
		}
	}
	return nil
}

func (c *channel) thread(ts string) []*Message {
	return slices.DeleteFunc(slices.Clone(c.messages), func(m *Message) bool {
		return m.TS != ts && m.Thread != ts || m.Deleted || m.OnlyFor != ""
	})
}

func (s *Server) idLocked(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%09d", prefix, 100+s.serial)
}

// tsLocked returns a new, unique timestamp in seconds and microseconds; they always increase.
func (s *Server) tsLocked() string {
	now := time.Now().Add(s.opt.Ahead).Truncate(time.Microsecond)
	if !now.After(s.lastTS) {
		now = s.lastTS.Add(time.Microsecond)
	}
	s.lastTS = now
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)
}

// objectLocked returns the message as in the Web API and in events.
func (s *Server) objectLocked(m *Message, metadata bool) map[string]any {
	o := map[string]any{"type": "message", "ts": m.TS, "text": m.Text, "team": TeamID}
	set := func(key, value string) {
		if value != "" {
			o[key] = value
		}
	}
	set("user", m.User)
	set("bot_id", m.BotID)
	set("thread_ts", m.Thread)
	if m.own() {
		o["app_id"] = AppID
	}
	if m.User == "" {
		o["subtype"] = "bot_message" // reference/events/message/bot_message: integrations, no user
	}
	if len(m.Files) > 0 {
		o["subtype"] = "file_share" // reference/events/message/file_share
		var files []described
		for _, id := range m.Files {
			files = append(files, s.files[id].described)
		}
		o["files"] = files
	}
	if m.Blocks != nil {
		o["blocks"] = m.Blocks
	}
	if m.Attachments != nil {
		o["attachments"] = m.Attachments
	}
	if metadata && m.Metadata != nil {
		o["metadata"] = m.Metadata
	}
	if m.room != nil {
		o["subtype"] = "huddle_thread"
		o["room"] = m.room
	}
	if m.tomb {
		o["subtype"] = "tombstone"
		o["hidden"] = true
	}
	if m.edited != "" {
		o["edited"] = map[string]string{"user": m.User, "ts": m.edited}
	}
	if thread := s.channels[m.Channel].thread(m.TS); m.Thread == "" && len(thread) > 1 {
		replies := thread[1:]
		var users []string
		for _, reply := range replies {
			if !slices.Contains(users, reply.User) {
				users = append(users, reply.User)
			}
		}
		o["thread_ts"] = m.TS
		o["reply_count"] = len(replies)
		o["latest_reply"] = replies[len(replies)-1].TS
		o["reply_users"] = users[:min(len(users), 5)]
		o["reply_users_count"] = len(users)
	} else if p := s.channels[m.Channel].find(m.Thread); p != nil {
		o["parent_user_id"] = p.User
	}
	return o
}

func blocksText(raw json.RawMessage) string {
	var blocks slack.Blocks
	_ = json.Unmarshal(raw, &blocks) // nothing, or validated when it was posted
	var lines []string
	for _, b := range blocks.BlockSet {
		switch b := b.(type) {
		case *slack.SectionBlock:
			if b.Text != nil {
				lines = append(lines, b.Text.Text)
			}
		case *slack.MarkdownBlock:
			lines = append(lines, b.Text)
		}
	}
	return strings.Join(lines, "\n")
}
