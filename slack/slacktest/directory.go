// Who is in the workspace, and which conversations there are of which kind.
package slacktest

import (
	"slices"
	"strings"
)

// typeNames are what the argument types calls the kinds of conversation.
var typeNames = map[string]string{"public_channel": "channel", "private_channel": "group", "mpim": "mpim", "im": "im"}

// kinds reads the argument types, which is public_channel by default
// (reference/methods/conversations.list).
func (a args) kinds() []string {
	var kinds []string
	for name := range strings.SplitSeq(a["types"], ",") {
		kinds = append(kinds, typeNames[strings.TrimSpace(name)])
	}
	if a["types"] == "" {
		kinds = []string{"channel"}
	}
	return kinds
}

func (s *Server) conversationList(a args) (answer, error) {
	return s.conversationsLocked(a, func(*channel) bool { return true })
}

// userConversations lists the conversations that the app, or a person, is in
// (reference/methods/users.conversations).
func (s *Server) userConversations(a args) (answer, error) {
	who := BotUserID
	if a["user"] != "" {
		who = a["user"]
	}
	return s.conversationsLocked(a, func(c *channel) bool { return c.has(who) })
}

func (s *Server) conversationsLocked(a args, want func(*channel) bool) (answer, error) {
	kinds := a.kinds()
	if slices.Contains(kinds, "") {
		return nil, refuse("invalid_types")
	}
	found := []map[string]any{}
	for _, id := range s.order {
		c, err := s.visibleLocked(id)
		if err == nil && slices.Contains(kinds, c.kind) && want(c) && !(c.archived && a.flag("exclude_archived")) {
			found = append(found, s.channelObjectLocked(c))
		}
	}
	from, to, more, err := a.page(len(found), historyUsual, listMost)
	if err != nil {
		return nil, err
	}
	return answer{"channels": found[from:to], "response_metadata": more}, nil
}

// AddGroupDM returns the id of the direct messages between several people and the app.
func (s *Server) AddGroupDM(people ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range people {
		s.mustUserLocked(id)
	}
	return s.groupDMLocked(people).id
}

// groupDMLocked finds or makes a group. Its name is like that in reference/objects/mpim-object.
func (s *Server) groupDMLocked(people []string) *channel {
	members := append([]string{BotUserID}, people...)
	slices.Sort(members)
	members = slices.Compact(members)
	names := make([]string, len(members))
	for i, id := range members {
		names[i] = s.users[id].name
	}
	for _, c := range s.channels {
		if c.kind == "mpim" && slices.Equal(c.members, members) {
			return c
		}
	}
	return s.addChannelLocked(&channel{name: "mpdm-" + strings.Join(names, "--") + "-1", kind: "mpim", members: members})
}

// mostInGroup is how many people conversations.open takes (reference/methods/conversations.open).
const mostInGroup = 8

// conversationOpen opens the direct messages with one person or several.
func (s *Server) conversationOpen(a args) (answer, error) {
	people := strings.Split(a["users"], ",")
	switch {
	case a["channel"] != "":
		c, err := s.visibleLocked(a["channel"])
		if err != nil {
			return nil, err
		}
		return answer{"channel": s.channelObjectLocked(c)}, nil
	case a["users"] == "":
		return nil, refuse("users_list_not_supplied")
	case len(people) > mostInGroup:
		return nil, refuse("too_many_users")
	case slices.ContainsFunc(people, func(id string) bool { return s.users[id] == nil }):
		return nil, refuse("user_not_found")
	case len(people) > 1:
		if err := s.wantLocked("mpim:write"); err != nil {
			return nil, err
		}
		return answer{"channel": map[string]any{"id": s.groupDMLocked(people).id}}, nil
	}
	if err := s.wantLocked("im:write"); err != nil {
		return nil, err
	}
	return answer{"channel": map[string]any{"id": s.dmLocked(people[0]).id}}, nil
}

// Archive makes a channel read-only: a channel_archive event, or group_archive for a private one
// (reference/events/channel_archive, reference/events/group_archive).
func (s *Server) Archive(channel, person string) { s.archive(channel, person, true) }

// Unarchive takes that back.
func (s *Server) Unarchive(channel, person string) { s.archive(channel, person, false) }

func (s *Server) archive(channel, person string, archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannelLocked(channel)
	kind := map[bool]string{true: "_archive", false: "_unarchive"}[archived]
	if c.archived = archived; c.kind != "channel" && c.kind != "group" {
		panic("slacktest: not a channel: " + channel)
	}
	s.eventLocked(c, map[string]any{
		"type": c.kind + kind, "channel": c.id, "user": s.mustUserLocked(person).id, "event_ts": s.tsLocked(),
	})
}

// Admin makes a person an admin of the workspace.
func (s *Server) Admin(person string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustUserLocked(person).admin = true
}

func (s *Server) userInfo(a args) (answer, error) {
	u := s.users[a["user"]]
	if u == nil {
		return nil, refuse("user_not_found")
	}
	return answer{"user": u.object()}, nil
}

// userList gives all at once unless a limit is set (reference/methods/users.list).
func (s *Server) userList(a args) (answer, error) {
	found := []map[string]any{}
	for _, id := range s.people {
		found = append(found, s.users[id].object())
	}
	from, to, more, err := a.page(len(found), len(found), listMost)
	if err != nil {
		return nil, err
	}
	return answer{"members": found[from:to], "response_metadata": more}, nil
}

// object is a user as in reference/objects/user-object.
func (u *user) object() map[string]any {
	return map[string]any{
		"id": u.id, "team_id": TeamID, "name": u.name, "real_name": u.name, "is_bot": u.botID != "", "tz": "Etc/UTC",
		"deleted": false, "is_admin": u.admin, "is_owner": false,
		"profile": map[string]string{"display_name": u.name, "real_name": u.name, "bot_id": u.botID},
	}
}
