// Errors of Slack, and what to do about them.

package slack

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"
)

// setupError is an error that only a person can fix; its text says how.
type setupError string

func (t setupError) Error() string { return string(t) }

// Where to click.
const (
	clickBotToken   = "take it at api.slack.com/apps → your app → OAuth & Permissions → Bot User OAuth Token (xoxb-…)"
	clickAppToken   = "make one at api.slack.com/apps → your app → Basic Information → App-Level Tokens, with the scope connections:write (xapp-…)"
	clickScope      = "add it at api.slack.com/apps → your app → OAuth & Permissions → Scopes → Bot Token Scopes, then install the app again"
	clickSocketMode = "see that it is switched on at api.slack.com/apps → your app → Socket Mode"
)

// wrongToken are the error codes for an invalid token.
var wrongToken = []string{
	"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type", "user_removed_from_team",
}

// temporary are error codes for which a retry may help.
var temporary = []string{
	"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "org_login_required",
	"ratelimited", "rate_limited", "message_limit_exceeded", "accesslimited", "external_channel_migrating", "streaming_state_conflict",
}

// unsettled are error codes of requests that may have taken effect.
var unsettled = []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout"}

// codeOf is Slack's error code; empty: err has none.
func codeOf(err error) string {
	var answer slackgo.SlackErrorResponse
	if errors.As(err, &answer) {
		return answer.Err
	}
	return ""
}

// refusedForGood reports whether a retry cannot help.
func refusedForGood(err error) bool {
	code := codeOf(err)
	return code != "" && code != "missing_scope" && !slices.Contains(temporary, code) && !slices.Contains(wrongToken, code)
}

// unknownMethod reports whether the server does not have a method. Slack says so in its
// own words, a compatible server perhaps in those of HTTP.
func unknownMethod(err error) bool {
	var status slackgo.StatusCodeError
	return codeOf(err) == "unknown_method" || errors.As(err, &status) && status.Code == http.StatusNotFound
}

// mayHaveHappened reports whether a failed request may have taken effect.
func mayHaveHappened(err error) bool {
	if err == nil {
		return false
	}
	if code := codeOf(err); code != "" {
		return slices.Contains(unsettled, code)
	}
	if _, limited := rateLimit(err); limited {
		return false
	}
	var status slackgo.StatusCodeError
	if errors.As(err, &status) {
		return status.Code >= http.StatusInternalServerError
	}
	var dial *net.OpError
	return !errors.As(err, &dial) || dial.Op != "dial"
}

// unsaidLimit is the wait for a rate limit that does not say how long.
const unsaidLimit = 5 * time.Second

// rateLimit returns how long Slack asks to wait.
func rateLimit(err error) (time.Duration, bool) {
	var limited *slackgo.RateLimitedError
	var status slackgo.StatusCodeError
	switch {
	case errors.As(err, &limited):
		return max(limited.RetryAfter, 100*time.Millisecond), true
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests, codeOf(err) == "ratelimited", codeOf(err) == "rate_limited":
		return unsaidLimit, true
	}
	return 0, false
}

// scopeNeeded says which scope is missing for a method.
func scopeNeeded(method string, err error) string {
	var answer slackgo.SlackErrorResponse
	if errors.As(err, &answer) && answer.Needed != "" {
		return answer.Needed
	}
	return scopes[method]
}

// explainBotError returns a setupError if err is about the bot token.
func explainBotError(method string, err error) error {
	switch code := codeOf(err); {
	case code == "missing_scope":
		return setupError(fmt.Sprintf("the app lacks the scope %s: %s", scopeNeeded(method, err), clickScope))
	case slices.Contains(wrongToken, code):
		return setupError(fmt.Sprintf("Slack rejects the bot token (%s): %s", code, clickBotToken))
	}
	return err
}

// explainAppError returns a setupError if err is about the app-level token.
func explainAppError(err error) error {
	if code := codeOf(err); code == "missing_scope" || slices.Contains(wrongToken, code) {
		return setupError(fmt.Sprintf("Slack rejects the app-level token (%s): %s", code, clickAppToken))
	}
	return err
}

// stopIfSetupError ends Run if err is a setupError.
func (s *Slack) stopIfSetupError(err error) {
	var t setupError
	if errors.As(err, &t) {
		s.stop(t)
	}
}

// takesNoReplies reports whether an error says that a message cannot have a thread.
func takesNoReplies(err error) bool {
	switch codeOf(err) {
	case "thread_not_found", "invalid_thread_ts", "cannot_reply_to_message", "restricted_action_non_threadable_channel":
		return true
	}
	return false
}

// gone reports whether a message cannot be edited, so that a new one is needed.
func gone(err error) bool {
	switch codeOf(err) {
	case "message_not_found", "cant_update_message", "edit_window_closed", "unknown_method":
		return true
	}
	return tooLong(err) || errors.Is(err, errStuck)
}
