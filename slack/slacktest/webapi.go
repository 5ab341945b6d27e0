// The Web API: tokens, arguments, responses and errors (apis/web-api).
package slacktest

import (
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

type (
	args   map[string]string
	answer map[string]any
	method func(*Server, args) (answer, error) // called with mu held
)

// method returns the implementation of a method; nil if it is not supported. Slack's error for an
// unknown name is unknown_method.
func (s *Server) method(name string) method {
	return map[string]method{
		"apps.connections.open":       (*Server).openConnection,
		"auth.test":                   (*Server).authTest,
		"chat.postMessage":            (*Server).postMessage,
		"chat.update":                 (*Server).updateMessage,
		"chat.delete":                 (*Server).deleteMessage,
		"chat.postEphemeral":          (*Server).postEphemeral,
		"chat.startStream":            (*Server).startStream,
		"chat.appendStream":           (*Server).appendStream,
		"chat.stopStream":             (*Server).stopStream,
		"assistant.threads.setStatus": (*Server).setStatus,
		"conversations.info":          (*Server).conversationInfo,
		"conversations.list":          (*Server).conversationList,
		"conversations.history":       (*Server).conversationHistory,
		"conversations.replies":       (*Server).conversationReplies,
		"users.conversations":         (*Server).userConversations,
		"users.info":                  (*Server).userInfo,
		"reactions.add":               (*Server).addReaction,
		"reactions.remove":            (*Server).removeReaction,
	}[name]
}

// refusal is an error response.
type refusal struct {
	code       string
	messages   []string // response_metadata.messages
	status     int      // 0: 200, as for nearly all of Slack's errors
	retryAfter time.Duration
	needed     string // for missing_scope
	provided   string
}

func (r refusal) Error() string { return r.code }

func refuse(code string, messages ...string) refusal { return refusal{code: code, messages: messages} }

func (r refusal) reply() reply {
	body := answer{"ok": false, "error": r.code}
	if len(r.messages) > 0 {
		body["response_metadata"] = map[string]any{"messages": r.messages}
	}
	if r.needed != "" {
		body["needed"], body["provided"] = r.needed, r.provided
	}
	a := jsonReply(body)
	if a.code, a.retry = r.code, r.retryAfter; r.status != 0 {
		a.status = r.status
	}
	return a
}

func jsonReply(v any) reply {
	return reply{status: http.StatusOK, kind: "application/json; charset=utf-8", body: mustJSON(v)}
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	a, token, err := arguments(r)
	s.showScopes(w)
	s.serve(w, r, name, a, func() reply {
		if err != nil {
			return asRefusal(err).reply()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		do := s.method(name)
		if do == nil {
			return refuse("unknown_method").reply()
		}
		if err := checkToken(name, token); err != nil {
			return asRefusal(err).reply()
		}
		if err := s.scopeLocked(name, a); err != nil {
			return asRefusal(err).reply()
		}
		result, err := do(s, a)
		if err != nil {
			return asRefusal(err).reply()
		}
		body := answer{"ok": true}
		maps.Copy(body, result)
		return jsonReply(body)
	})
}

func asRefusal(err error) refusal {
	if r, ok := err.(refusal); ok {
		return r
	}
	return refuse("internal_error", err.Error())
}

// checkToken: a method requires the type of token that its page lists; any other type is rejected
// with not_allowed_token_type (reference/methods/apps.connections.open, authentication/tokens).
func checkToken(method, token string) error {
	wanted, prefix := BotToken, "xoxb-"
	if method == "apps.connections.open" {
		wanted, prefix = AppToken, "xapp-"
	}
	switch {
	case token == "":
		return refuse("not_authed")
	case token == wanted:
		return nil
	case !strings.HasPrefix(token, prefix) && strings.HasPrefix(token, "x"):
		return refuse("not_allowed_token_type")
	default:
		return refuse("invalid_auth")
	}
}

// arguments parses a form, as slack-go sends it; the token may be a field (apis/web-api#basics).
// JSON is not supported.
func arguments(r *http.Request) (args, string, error) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		token = ""
	}
	a := args{}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return a, token, refuse("request_timeout", err.Error())
	}
	add := func(query string) {
		values, _ := url.ParseQuery(query) // invalid parts are ignored, as is usual for forms
		for key := range values {
			a[key] = values.Get(key)
		}
	}
	add(r.URL.RawQuery)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method == http.MethodGet || len(body) == 0:
	case kind == "application/x-www-form-urlencoded":
		add(string(body))
	default:
		return a, token, refuse("invalid_post_type")
	}
	if token == "" {
		token = a["token"]
	}
	delete(a, "token")
	return a, token, nil
}

// need rejects a call without a required argument (apis/web-api#responses).
func (a args) need(keys ...string) error {
	for _, key := range keys {
		if a[key] == "" {
			return refuse("invalid_arguments", "[ERROR] missing required field: "+key)
		}
	}
	return nil
}

func (a args) flag(key string) bool { return a[key] == "true" || a[key] == "1" }

// page returns the bounds of one page of n items, and the cursor of the next one
// (apis/web-api/pagination). A limit beyond maxSize is rejected.
func (a args) page(n, pageSize, maxSize int) (from, to int, more map[string]string, err error) {
	limit := pageSize
	if text := a["limit"]; text != "" && text != "0" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxSize {
			return 0, 0, nil, refuse("invalid_limit")
		}
	}
	if text := a["cursor"]; text != "" {
		rest, ok := strings.CutPrefix(text, "from:")
		if from, err = strconv.Atoi(rest); !ok || err != nil || from < 0 || from > n {
			return 0, 0, nil, refuse("invalid_cursor")
		}
	}
	to = min(from+limit, n)
	next := ""
	if to < n {
		next = fmt.Sprintf("from:%d", to)
	}
	return from, to, map[string]string{"next_cursor": next}, nil
}

func (s *Server) authTest(args) (answer, error) {
	return answer{
		"url": s.http.URL + "/", "team": "slacktest", "team_id": TeamID, "user": s.users[BotUserID].name, "user_id": BotUserID,
		"bot_id": BotID, "is_enterprise_install": false,
	}, nil
}

// scopes are the scopes of the bot token that methods require. ":read" and ":history" are completed
// by the conversation's kind, such as channels:read. Other methods require none.
var scopes = map[string]string{
	"chat.postMessage": "chat:write", "chat.update": "chat:write", "chat.delete": "chat:write", "chat.postEphemeral": "chat:write",
	"chat.startStream": "chat:write", "chat.appendStream": "chat:write", "chat.stopStream": "chat:write",
	"conversations.info": ":read", "conversations.list": ":read", "conversations.members": ":read", "users.conversations": ":read",
	"conversations.history": ":history", "conversations.replies": ":history",
	"users.info": "users:read", "users.list": "users:read", "reactions.add": "reactions:write", "reactions.remove": "reactions:write",
	"files.download": "files:read",
	// assistant:write is accepted too "for the time being"
	// (reference/methods/assistant.threads.setStatus).
	"assistant.threads.setStatus": "chat:write",
}

// families are the prefixes of scopes, by kind of conversation.
var families = map[string]string{"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}

// grantedLocked reports whether the token has a scope.
func (s *Server) grantedLocked(scope string) bool {
	return s.opt.Scopes == nil || slices.Contains(s.opt.Scopes, scope)
}

// scopeLocked rejects a call without a required scope. An unknown conversation is left to the
// method to reject.
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
	return s.requireLocked(needed...)
}

// requireLocked rejects calls without the needed scopes (missing_scope on each method's page; that
// needed and provided are comma-separated was observed by users of the SDKs).
func (s *Server) requireLocked(needed ...string) error {
	slices.Sort(needed)
	for _, scope := range needed {
		if !s.grantedLocked(scope) {
			return refusal{code: "missing_scope", needed: strings.Join(needed, ","), provided: strings.Join(s.opt.Scopes, ",")}
		}
	}
	return nil
}

// receivesLocked reports whether the app gets an event of a conversation. Without the event's scope
// Slack sends none (the Facts of each event's page).
func (s *Server) receivesLocked(c *channel, event string) bool {
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
