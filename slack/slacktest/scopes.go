// OAuth scopes: what the bot token may do (reference/scopes, and the Facts of each method's page).
package slacktest

import (
	"net/http"
	"slices"
	"strings"
)

// scopes are those that a method needs of the bot token. ":read" and ":history" stand for that of
// the conversation's kind, such as channels:read. A method that is not here needs none.
var scopes = map[string]string{
	"chat.postMessage": "chat:write", "chat.update": "chat:write", "chat.delete": "chat:write", "chat.postEphemeral": "chat:write",
	"chat.startStream": "chat:write", "chat.appendStream": "chat:write", "chat.stopStream": "chat:write",
	"conversations.info": ":read", "conversations.list": ":read", "conversations.members": ":read", "users.conversations": ":read",
	"conversations.history": ":history", "conversations.replies": ":history",
	"users.info": "users:read", "users.list": "users:read", "reactions.add": "reactions:write", "reactions.remove": "reactions:write",
	"files.download": "files:read",
	// assistant:write is taken too "for the time being" (reference/methods/assistant.threads.setStatus).
	"assistant.threads.setStatus": "chat:write",
}

// families are the beginnings of scopes for the kinds of conversation.
var families = map[string]string{"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}

// grantedLocked reports whether the token has a scope.
func (s *Server) grantedLocked(scope string) bool {
	return s.opt.Scopes == nil || slices.Contains(s.opt.Scopes, scope)
}

// scopeLocked refuses a call for want of a scope. Of an unknown conversation only the method can
// tell that it is unknown.
func (s *Server) scopeLocked(method string, a args) error {
	scope := scopes[method]
	needed := []string{scope}
	switch c := s.channels[a["channel"]]; {
	case scope == "":
		return nil
	case method == "conversations.list" || method == "users.conversations":
		needed = nil
		for kind, family := range families {
			if slices.Contains(a.kinds(), kind) {
				needed = append(needed, family+scope)
			}
		}
	case method == "assistant.threads.setStatus" && s.grantedLocked("assistant:write"):
		return nil
	case scope[0] == ':' && c == nil:
		return nil
	case scope[0] == ':':
		needed = []string{families[c.kind] + scope}
	}
	return s.wantLocked(needed...)
}

// wantLocked refuses what needs scopes the token lacks (missing_scope on each method's page; that
// needed and provided are lists with commas was seen by users of the SDKs).
func (s *Server) wantLocked(needed ...string) error {
	slices.Sort(needed)
	for _, scope := range needed {
		if !s.grantedLocked(scope) {
			return refusal{code: "missing_scope", needed: strings.Join(needed, ","), provided: strings.Join(s.opt.Scopes, ",")}
		}
	}
	return nil
}

// hearsLocked reports whether the app gets an event of a conversation. Without the event's scope
// Slack sends none (the Facts of each event's page).
func (s *Server) hearsLocked(c *channel, event string) bool {
	switch event {
	case "message":
		return s.grantedLocked(families[c.kind] + ":history")
	case "app_mention":
		return s.grantedLocked("app_mentions:read")
	case "reaction_added":
		return s.grantedLocked("reactions:read")
	default:
		return s.grantedLocked(families[c.kind] + ":read")
	}
}

// everything is what a token has when the test names no scopes.
var everything = []string{
	"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands", "files:read",
	"files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
	"mpim:write", "reactions:read", "reactions:write", "users:read",
}

// showScopes puts the token's scopes on an answer (authentication/installing-with-oauth).
func (s *Server) showScopes(w http.ResponseWriter) {
	has := s.opt.Scopes
	if has == nil {
		has = everything
	}
	w.Header().Set("X-OAuth-Scopes", strings.Join(has, ","))
}
