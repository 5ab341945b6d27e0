// The members of the workspace, and its conversations by type.
package slacktest

import (
	"slices"
	"strings"
)

// typeNames maps the values of the argument types to kinds of conversations.
var typeNames = map[string]string{"public_channel": "channel", "private_channel": "group", "mpim": "mpim", "im": "im"}

// kinds parses the argument types; the default is public_channel
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

func (s *Server) conversationList(a args) answer {
	return s.conversationsLocked(a, func(*channel) bool { return true })
}

// userConversations lists the conversations of which the app is a member
// (reference/methods/users.conversations).
func (s *Server) userConversations(a args) answer {
	return s.conversationsLocked(a, func(c *channel) bool { return c.has(BotUserID) })
}

func (s *Server) conversationsLocked(a args, want func(*channel) bool) answer {
	kinds := a.kinds()
	refuseIf(slices.Contains(kinds, ""), "invalid_types")
	found := []map[string]any{}
	for _, id := range s.order {
		if c := s.channels[id]; c.visible() && slices.Contains(kinds, c.kind) && want(c) {
			found = append(found, s.channelObjectLocked(c))
		}
	}
	from, to, more := a.page(len(found), historyDefault, listMax)
	return answer{"channels": found[from:to], "response_metadata": more}
}

// AddGroupDM adds a group direct message of several people and the app, and returns its id.
func (s *Server) AddGroupDM(people ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range people {
		s.mustUserLocked(id)
	}
	return s.addChannelLocked(&channel{name: "mpdm-1", kind: "mpim", members: append([]string{BotUserID}, people...)}).id
}

// Admin makes a person an admin of the workspace.
func (s *Server) Admin(person string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustUserLocked(person).admin = true
}

func (s *Server) userInfo(a args) answer {
	u := s.users[a["user"]]
	refuseIf(u == nil, "user_not_found")
	return answer{"user": u.object()}
}

// object returns a user as in reference/objects/user-object.
func (u *user) object() map[string]any {
	return map[string]any{
		"id": u.id, "team_id": TeamID, "name": u.name, "real_name": u.name, "is_bot": u.botID != "", "tz": "Etc/UTC",
		"deleted": false, "is_admin": u.admin, "is_owner": false,
		"profile": map[string]string{"display_name": u.name, "real_name": u.name, "bot_id": u.botID},
	}
}
