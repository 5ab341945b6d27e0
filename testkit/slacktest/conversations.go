// conversations.*, users.* and reactions.*: reading conversations and members, and the app's emoji.

package slacktest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"
)

const (
	historyDefault = 100  // messages per page (reference/methods/conversations.history)
	historyMax     = 999  // same page
	repliesDefault = 1000 // reference/methods/conversations.replies
	listMax        = 999  // reference/methods/users.conversations, apis/web-api/pagination
	peopleMost     = 1000 // of a workspace that is listed without a limit (judgement: "large teams", reference/methods/users.list)
)

func (s *Server) channelObjectLocked(c *channel) map[string]any {
	o := map[string]any{
		"id": c.id, "is_channel": c.kind == "channel", "is_group": c.kind == "group", "is_im": c.kind == "im",
		"is_mpim": c.kind == "mpim", "is_private": c.kind != "channel", "context_team_id": TeamID,
	}
	if c.kind == "im" {
		o["user"] = c.with
		return o
	}
	o["name"] = c.name
	o["name_normalized"] = c.name
	o["is_member"] = c.has(BotUserID)
	o["num_members"] = len(c.members)
	// "can't be written to by the user performing the API call" (reference/objects/conversation-object)
	o["is_archived"] = c.restriction == "is_archived"
	o["is_read_only"] = c.restriction == "restricted_action_read_only_channel"
	return o
}

func (s *Server) visibleLocked(id string) *channel {
	c := s.channels[id]
	refuseIf(c == nil || !c.visible(), "channel_not_found")
	return c
}

func (c *channel) visible() bool { return c.kind == "channel" || c.has(BotUserID) }

func (s *Server) readableLocked(id string) *channel {
	c := s.visibleLocked(id)
	refuseIf(!c.has(BotUserID), "not_in_channel")
	return c
}

func (s *Server) conversationInfo(a args) answer {
	return answer{"channel": s.channelObjectLocked(s.visibleLocked(a["channel"]))}
}

// conversationHistory returns a channel's messages, newest first, without the replies in threads.
func (s *Server) conversationHistory(a args) answer {
	c := s.readableLocked(a["channel"])
	found := slices.DeleteFunc(slices.Clone(c.messages), func(m *Message) bool {
		return m.Thread != "" || m.Deleted || m.OnlyFor != "" || !a.inRange(m.TS)
	})
	slices.Reverse(found)
	return s.messagePageLocked(a, found, historyDefault, historyMax)
}

// conversationReplies returns a thread with its parent, oldest first; of the ts of a reply "that single message".
func (s *Server) conversationReplies(a args) answer {
	c := s.readableLocked(a["channel"])
	parent := c.find(a["ts"])
	refuseIf(parent == nil, "thread_not_found")
	found := slices.DeleteFunc(c.thread(parent.TS), func(m *Message) bool { return m != parent && !a.inRange(m.TS) })
	return s.messagePageLocked(a, found, repliesDefault, repliesDefault)
}

// inRange compares timestamps as strings: they have the same length here. The argument inclusive is not supported.
func (a args) inRange(ts string) bool {
	return (a["oldest"] == "" || ts > a["oldest"]) && (a["latest"] == "" || ts < a["latest"])
}

// messagePageLocked returns one page; metadata only if requested.
func (s *Server) messagePageLocked(a args, found []*Message, pageSize, maxSize int) answer {
	for _, edge := range []string{"oldest", "latest"} {
		_, err := strconv.ParseFloat(a[edge], 64)
		refuseIf(a[edge] != "" && err != nil, "invalid_ts_"+edge)
	}
	from, to, more := a.page(len(found), pageSize, maxSize)
	objects := make([]map[string]any, 0, to-from)
	for _, m := range found[from:to] {
		o := s.objectLocked(m, a["include_all_metadata"] == "1")
		if s.opt.Histories != nil {
			s.opt.Histories(o)
		}
		objects = append(objects, o)
	}
	return answer{"messages": objects, "has_more": to < len(found), "response_metadata": more}
}

func (s *Server) addReaction(a args) answer {
	m := s.reactionLocked(a)
	refuseIf(slices.Contains(m.Reactions, a["name"]), "already_reacted")
	m.Reactions = append(m.Reactions, a["name"])
	s.reactedLocked(s.channels[a["channel"]], m, BotUserID, a["name"])
	return nil
}

// React has a person, or another bot, put an emoji on a message.
func (s *Server) React(channelID, ts, person, name string) {
	s.act(channelID, ts, func(c *channel, m *Message) { s.reactedLocked(c, m, s.mustUserLocked(person).ID, name) })
}

// reactedLocked sends the event of a reaction (reference/events/reaction_added): it names the author of the message unless that is a webhook,
// and does not say whether the message is in a thread.
func (s *Server) reactedLocked(c *channel, m *Message, person, name string) {
	event := map[string]any{
		"type": "reaction_added", "user": person, "reaction": name, "event_ts": s.tsLocked(),
		"item": map[string]any{"type": "message", "channel": c.id, "ts": m.TS},
	}
	if m.User != "" {
		event["item_user"] = m.User
	}
	s.eventLocked(c, event)
}

// removeReaction removes one of the app's reactions (reference/methods/reactions.remove).
func (s *Server) removeReaction(a args) answer {
	m := s.reactionLocked(a)
	at := slices.Index(m.Reactions, a["name"])
	refuseIf(at < 0, "no_reaction")
	m.Reactions = slices.Delete(m.Reactions, at, at+1)
	return nil
}

func (s *Server) reactionLocked(a args) *Message {
	c := s.channels[a["channel"]]
	refuseIf(a["channel"] == "" || a["timestamp"] == "", "no_item_specified")
	refuseIf(c == nil, "channel_not_found")
	refuseIf(a["name"] == "" || strings.Trim(a["name"], "abcdefghijklmnopqrstuvwxyz0123456789_-+':") != "", "invalid_name")
	m := c.find(a["timestamp"])
	refuseIf(m == nil, "message_not_found")
	return m
}

// typeNames maps the values of the argument types to kinds of conversations.
var typeNames = map[string]string{"public_channel": "channel", "private_channel": "group", "mpim": "mpim", "im": "im"}

// kinds parses the argument types; the default is public_channel (reference/methods/users.conversations).
func (a args) kinds() (kinds []string) {
	for name := range strings.SplitSeq(cmp.Or(a["types"], "public_channel"), ",") {
		kinds = append(kinds, typeNames[strings.TrimSpace(name)])
	}
	return kinds
}

// conversationsLocked lists conversations of which the app is a member, or those of the argument user: private ones only if the app is
// in them, too (reference/methods/users.conversations).
func (s *Server) conversationsLocked(a args) answer {
	kinds := a.kinds()
	refuseIf(slices.Contains(kinds, ""), "invalid_types")
	member := cmp.Or(a["user"], BotUserID)
	refuseIf(member != BotUserID && s.users[member] == nil, "user_not_found")
	found := []map[string]any{}
	for _, id := range s.order {
		c := s.channels[id]
		hidden := a["exclude_archived"] == "true" && c.restriction == "is_archived"
		if slices.Contains(kinds, c.kind) && c.has(member) && c.visible() && !hidden {
			found = append(found, s.channelObjectLocked(c))
		}
	}
	from, to, more := a.page(len(found), historyDefault, listMax)
	return answer{"channels": found[from:to], "response_metadata": more}
}

// Guest makes a person a guest of the workspace, who may read only channels that they are in.
func (s *Server) Guest(person string) { s.do(func() { s.mustUserLocked(person).IsRestricted = true }) }

// Admin makes a person an admin of the workspace.
func (s *Server) Admin(person string) { s.do(func() { s.mustUserLocked(person).IsAdmin = true }) }

func (s *Server) userInfo(a args) answer {
	u := s.users[a["user"]]
	refuseIf(u == nil, "user_not_found")
	return answer{"user": u}
}

// usersLocked lists everybody in the workspace (reference/methods/users.list).
func (s *Server) usersLocked(a args) answer {
	refuseIf((a["limit"] == "" || a["limit"] == "0") && len(s.people) > peopleMost, "limit_required")
	from, to, more := a.page(len(s.people), peopleMost, listMax)
	members := []*slack.User{}
	for _, id := range s.people[from:to] {
		members = append(members, s.users[id])
	}
	return answer{"members": members, "response_metadata": more}
}

// Locale sets the language of a person's Slack, which users.info tells if it is asked to (reference/methods/users.info: include_locale).
func (s *Server) Locale(person, locale string) {
	s.do(func() { s.mustUserLocked(person).Locale = locale })
}
