// Slack's errors: which of them pass, which a person can fix and how, and after which a request may have taken effect.

package slack

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/connector/platform"
)

// Instructions for setup errors.
const (
	clickBotToken   = "copy it from api.slack.com/apps → your app → OAuth & Permissions → Bot User OAuth Token (xoxb-…)"
	clickAppToken   = "create one at api.slack.com/apps → your app → Basic Information → App-Level Tokens, with the scope connections:write (xapp-…)"
	clickScope      = "add it at api.slack.com/apps → your app → OAuth & Permissions → Scopes → Bot Token Scopes, then install the app again"
	clickStop       = "add it at api.slack.com/apps → your app → Event Subscriptions → Subscribe to bot events"
	clickSocketMode = "switch it on at api.slack.com/apps → your app → Socket Mode"
)

var invalidTokenCodes = []string{
	"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type", "user_removed_from_team",
}

var temporaryCodes = []string{
	"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "org_login_required",
	"ratelimited", "rate_limited", "message_limit_exceeded", "accesslimited", "external_channel_migrating", "streaming_state_conflict",
}

// uncertainCodes are error codes of requests that may have taken effect.
var uncertainCodes = []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout"}

// codeOf returns the Slack error code of err; empty if it has none.
func codeOf(err error) string {
	if answer, ok := errors.AsType[slackgo.SlackErrorResponse](err); ok {
		return answer.Err
	}
	return ""
}

// isPermanent reports whether Slack refused a request for a reason that neither a retry nor a change of the app's setup removes.
func isPermanent(err error) bool {
	code := codeOf(err)
	return code != "" && code != "missing_scope" && !slices.Contains(temporaryCodes, code) && !slices.Contains(invalidTokenCodes, code)
}

// unknownMethod reports whether the server lacks a method: Slack has an error code, a compatible server maybe a status.
func unknownMethod(err error) bool {
	var status slackgo.StatusCodeError
	return codeOf(err) == "unknown_method" || errors.As(err, &status) && status.Code == http.StatusNotFound
}

// isRefused reports whether a retry of a request is pointless as long as the app's setup is the same.
func isRefused(err error) bool {
	code := codeOf(err)
	return isPermanent(err) || unknownMethod(err) || code == "missing_scope" || code == "not_allowed_token_type"
}

// mayHaveTakenEffect reports whether a failed request may have taken effect.
func mayHaveTakenEffect(err error) bool {
	var status slackgo.StatusCodeError
	var dial *net.OpError
	switch {
	case err == nil:
		return false
	case codeOf(err) != "":
		return slices.Contains(uncertainCodes, codeOf(err))
	case errors.As(err, &status):
		return status.Code >= http.StatusInternalServerError
	}
	_, limited := rateLimit(err)
	return !limited && (!errors.As(err, &dial) || dial.Op != "dial")
}

const defaultRateLimitWait = 5 * time.Second // where a rate limit error does not say

// rateLimit reports whether err is a rate limit, and how long to wait then.
func rateLimit(err error) (time.Duration, bool) {
	var limited *slackgo.RateLimitedError
	var status slackgo.StatusCodeError
	switch {
	case errors.As(err, &limited):
		return max(limited.RetryAfter, 100*time.Millisecond), true
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests, codeOf(err) == "ratelimited", codeOf(err) == "rate_limited":
		return defaultRateLimitWait, true
	}
	return 0, false
}

// explainBotError returns a platform.SetupError if err is about the bot token.
func explainBotError(err error) error {
	switch code := codeOf(err); {
	case code == "missing_scope":
		answer, _ := errors.AsType[slackgo.SlackErrorResponse](err)
		return platform.SetupError(fmt.Sprintf("the app lacks the scope %s: %s", answer.Needed, clickScope))
	case slices.Contains(invalidTokenCodes, code):
		return platform.SetupError(fmt.Sprintf("Slack rejects the bot token (%s): %s", code, clickBotToken))
	}
	return err
}

// stopIfSetupError ends Run if err is about the bot token, and explains it then.
func stopIfSetupError(work *platform.Group, err error) error {
	err = explainBotError(err)
	if setup, ok := errors.AsType[platform.SetupError](err); ok {
		work.Cancel(setup)
	}
	return err
}

// Error codes for a message that cannot be replied to in a thread, and for one that cannot be edited, so that a new
// one is needed.
var (
	noReplyCodes = []string{"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message", "restricted_action_non_threadable_channel"}
	noEditCodes  = []string{"message_not_found", "cant_update_message", "edit_window_closed", "unknown_method", "streaming_state_conflict"}
)
