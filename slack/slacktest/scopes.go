// Scopes of the token.

package slacktest

import (
	"net/http"
	"strings"
)

// allScopes are the token's scopes if the test sets none.
var allScopes = []string{
	"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands", "files:read",
	"files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
	"mpim:write", "reactions:read", "reactions:write", "users:read",
}

// showScopes adds the token's scopes to a response (authentication/installing-with-oauth).
func (s *Server) showScopes(w http.ResponseWriter) {
	has := s.opt.Scopes
	if has == nil {
		has = allScopes
	}
	w.Header().Set("X-OAuth-Scopes", strings.Join(has, ","))
}
