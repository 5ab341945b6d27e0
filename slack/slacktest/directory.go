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

// userConversations lists the conversations that the app is in
// (reference/methods/users.conversations).
func (s *Server) userConversations(a args) (answer, error) {
	return s.conversationsLocked(a, func(c *channel) bool { return c.has(BotUserID) })
}

func (s *Server) conversationsLocked(a args, want func(*channel) bool) (answer, error) {
	kinds := a.kinds()
	if slices.Contains(kinds, "") {
		return nil, refuse("invalid_types")
	}
	found := []map[string]any{}
	for _, id := range s.order {
		c, err := s.visibleLocked(id)
		if err == nil && slices.Contains(kinds, c.kind) && want(c) {
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
	return s.addChannelLocked(&channel{name: "mpdm-1", kind: "mpim", members: append([]string{BotUserID}, people...)}).id
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

// object is a user as in reference/objects/user-object.
func (u *user) object() map[string]any {
	return map[string]any{
		"id": u.id, "team_id": TeamID, "name": u.name, "real_name": u.name, "is_bot": u.botID != "", "tz": "Etc/UTC",
		"deleted": false, "is_admin": u.admin, "is_owner": false,
		"profile": map[string]string{"display_name": u.name, "real_name": u.name, "bot_id": u.botID},
	}
}
