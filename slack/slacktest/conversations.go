// conversations.* and reactions.*: what the app can look up, and its emoji.
package slacktest

import (
	"slices"
	"strconv"
	"strings"
)

const (
	historyUsual = 100  // messages in one page (reference/methods/conversations.history)
	historyMost  = 999  // same page
	repliesUsual = 1000 // reference/methods/conversations.replies
	listMost     = 999  // reference/methods/conversations.list and users.conversations; for users.list judgement
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

// visibleLocked finds a conversation that the app may see: public channels, and those it is in.
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

// conversationHistory gives a channel's messages, newest first, without the replies in threads.
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
		if m.Thread == "" && !m.Deleted && m.OnlyFor == "" && a.between(m.TS) {
			found = append(found, m)
		}
	}
	return s.messagePageLocked(a, found, historyUsual, historyMost)
}

// conversationReplies gives a thread, oldest first, the parent too.
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
		return s.messagePageLocked(a, []*Message{parent}, repliesUsual, repliesUsual) // the ts of a reply: "that single message"
	}
	found := slices.DeleteFunc(c.thread(parent.TS), func(m *Message) bool { return m != parent && !a.between(m.TS) })
	return s.messagePageLocked(a, found, repliesUsual, repliesUsual)
}

// between says whether a timestamp lies within oldest and latest, the ends themselves only if
// inclusive. Timestamps are of one length here, so they compare as strings.
func (a args) between(ts string) bool {
	if edge := ts == a["oldest"] || ts == a["latest"]; edge {
		return a.flag("inclusive")
	}
	return (a["oldest"] == "" || ts > a["oldest"]) && (a["latest"] == "" || ts < a["latest"])
}

// messagePageLocked shows one page; metadata only to who asks for it.
func (s *Server) messagePageLocked(a args, found []*Message, usual, most int) (answer, error) {
	for _, edge := range []string{"oldest", "latest"} {
		if _, err := strconv.ParseFloat(a[edge], 64); a[edge] != "" && err != nil {
			return nil, refuse("invalid_ts_" + edge)
		}
	}
	from, to, more, err := a.page(len(found), usual, most)
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

// removeReaction takes one of the app's own away (reference/methods/reactions.remove).
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

// reactionLocked finds the message that a reaction is about.
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
