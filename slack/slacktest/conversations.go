// conversations.* and reactions.*: reading conversations, and the app's emoji.
package slacktest

import (
	"slices"
	"strconv"
	"strings"
)

const (
	historyDefault = 100  // messages per page (reference/methods/conversations.history)
	historyMax     = 999  // same page
	repliesDefault = 1000 // reference/methods/conversations.replies
	listMax        = 999  // reference/methods/conversations.list and users.conversations; for users.list judgement
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
	o["name"], o["name_normalized"] = c.name, c.name
	o["is_member"], o["num_members"] = c.has(BotUserID), len(c.members)
	o["topic"] = map[string]any{"value": "", "creator": "", "last_set": 0}
	o["purpose"] = map[string]any{"value": "", "creator": "", "last_set": 0}
	return o
}

// visibleLocked returns a conversation that the app may see: a public channel, or one of which it
// is a member.
func (s *Server) visibleLocked(id string) (*channel, error) {
	c := s.channels[id]
	if c == nil || c.kind != "channel" && !c.has(BotUserID) {
		return nil, refuse("channel_not_found")
	}
	return c, nil
}

func (s *Server) conversationInfo(a args) (answer, error) {
	c, err := s.visibleLocked(a["channel"])
	if err != nil {
		return nil, err
	}
	return answer{"channel": s.channelObjectLocked(c)}, nil
}

// conversationHistory returns a channel's messages, newest first, without the replies in threads.
func (s *Server) conversationHistory(a args) (answer, error) {
	c, err := s.visibleLocked(a["channel"])
	if err != nil {
		return nil, err
	}
	if !c.has(BotUserID) {
		return nil, refuse("not_in_channel")
	}
	var found []*Message
	for _, m := range slices.Backward(c.messages) {
		if m.Thread == "" && !m.Deleted && m.OnlyFor == "" && a.inRange(m.TS) {
			found = append(found, m)
		}
	}
	return s.messagePageLocked(a, found, historyDefault, historyMax)
}

// conversationReplies returns a thread with its parent, oldest first.
func (s *Server) conversationReplies(a args) (answer, error) {
	c, err := s.visibleLocked(a["channel"])
	if err != nil {
		return nil, err
	}
	if !c.has(BotUserID) {
		return nil, refuse("not_in_channel")
	}
	parent := c.find(a["ts"])
	if parent == nil {
		return nil, refuse("thread_not_found")
	}
	if parent.Thread != "" {
		return s.messagePageLocked(a, []*Message{parent}, repliesDefault, repliesDefault) // the ts of a reply: "that single message"
	}
	found := slices.DeleteFunc(c.thread(parent.TS), func(m *Message) bool { return m != parent && !a.inRange(m.TS) })
	return s.messagePageLocked(a, found, repliesDefault, repliesDefault)
}

// inRange reports whether a timestamp is between oldest and latest; the bounds themselves count
// only with inclusive. Timestamps have the same length here, so they can be compared as strings.
func (a args) inRange(ts string) bool {
	if edge := ts == a["oldest"] || ts == a["latest"]; edge {
		return a.flag("inclusive")
	}
	return (a["oldest"] == "" || ts > a["oldest"]) && (a["latest"] == "" || ts < a["latest"])
}

// messagePageLocked returns one page; metadata only if requested.
func (s *Server) messagePageLocked(a args, found []*Message, pageSize, maxSize int) (answer, error) {
	for _, edge := range []string{"oldest", "latest"} {
		if _, err := strconv.ParseFloat(a[edge], 64); a[edge] != "" && err != nil {
			return nil, refuse("invalid_ts_" + edge)
		}
	}
	from, to, more, err := a.page(len(found), pageSize, maxSize)
	if err != nil {
		return nil, err
	}
	objects := make([]map[string]any, 0, to-from)
	for _, m := range found[from:to] {
		objects = append(objects, s.objectLocked(m, a.flag("include_all_metadata")))
	}
	return answer{"messages": objects, "has_more": to < len(found), "response_metadata": more}, nil
}

func (s *Server) addReaction(a args) (answer, error) {
	c, m, err := s.reactionLocked(a)
	if err != nil {
		return nil, err
	}
	if slices.Contains(m.Reactions, Reaction{BotUserID, a["name"]}) {
		return nil, refuse("already_reacted")
	}
	s.reactLocked(c, m, BotUserID, a["name"])
	return nil, nil
}

// removeReaction removes one of the app's reactions (reference/methods/reactions.remove).
func (s *Server) removeReaction(a args) (answer, error) {
	_, m, err := s.reactionLocked(a)
	if err != nil {
		return nil, err
	}
	at := slices.Index(m.Reactions, Reaction{BotUserID, a["name"]})
	if at < 0 {
		return nil, refuse("no_reaction")
	}
	m.Reactions = slices.Delete(m.Reactions, at, at+1)
	return nil, nil
}

// reactionLocked returns the message of a reaction.
func (s *Server) reactionLocked(a args) (*channel, *Message, error) {
	c := s.channels[a["channel"]]
	switch {
	case a["channel"] == "" || a["timestamp"] == "":
		return nil, nil, refuse("no_item_specified")
	case c == nil:
		return nil, nil, refuse("channel_not_found")
	case a["name"] == "" || strings.Trim(a["name"], "abcdefghijklmnopqrstuvwxyz0123456789_-+':") != "":
		return nil, nil, refuse("invalid_name")
	}
	m := c.find(a["timestamp"])
	if m == nil {
		return nil, nil, refuse("message_not_found")
	}
	return c, m, nil
}
