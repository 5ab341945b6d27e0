// What goes wrong with Slack, and what it means.

package slack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

// trouble is what cannot heal without a person, in words that say what to do.
type setupError string

func (t setupError) Error() string { return string(t) }

// Where to click.
const (
	clickBotToken   = "take it at api.slack.com/apps → your app → OAuth & Permissions → Bot User OAuth Token (xoxb-…)"
	clickAppToken   = "make one at api.slack.com/apps → your app → Basic Information → App-Level Tokens, with the scope connections:write (xapp-…)"
	clickScope      = "add it at api.slack.com/apps → your app → OAuth & Permissions → Scopes → Bot Token Scopes, then install the app again"
	clickSocketMode = "see that it is switched on at api.slack.com/apps → your app → Socket Mode"
)

// wrongToken are Slack's names for a token that is good for nothing.
var wrongToken = []string{
	"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type", "user_removed_from_team",
}

// temporary are refusals that may be none a moment later.
var temporary = []string{
	"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "org_login_required",
	"ratelimited", "rate_limited", "message_limit_exceeded", "accesslimited", "external_channel_migrating", "streaming_state_conflict",
}

// unsettled are refusals after which it may have been done all the same.
var unsettled = []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout"}

// codeOf is Slack's name of an error; empty: Slack did not answer in its own words.
func codeOf(err error) string {
	var answer slackgo.SlackErrorResponse
	if errors.As(err, &answer) {
		return answer.Err
	}
	return ""
}

// refusedForGood tells whether Slack will give the same answer again.
func refusedForGood(err error) bool {
	code := codeOf(err)
	return code != "" && code != "missing_scope" && !slices.Contains(temporary, code) && !slices.Contains(wrongToken, code)
}

// unknownMethod tells whether the server does not have a method. Slack says so in its
// own words, a compatible server perhaps in those of HTTP.
func unknownMethod(err error) bool {
	var status slackgo.StatusCodeError
	return codeOf(err) == "unknown_method" || errors.As(err, &status) && status.Code == http.StatusNotFound
}

// mayHaveHappened tells whether a request that failed may have been carried out.
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

// rateLimit returns how long Slack asks to wait.
func rateLimit(err error) (time.Duration, bool) {
	var limited *slackgo.RateLimitedError
	var status slackgo.StatusCodeError
	switch {
	case errors.As(err, &limited):
		return max(limited.RetryAfter, 100*time.Millisecond), true
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests, codeOf(err) == "ratelimited", codeOf(err) == "rate_limited":
		return 5 * time.Second, true // it does not say how long
	}
	return 0, false
}

// patient does what may be limited, and waits as long as Slack asks, but no longer
// than ctx.
func waitForLimits(ctx context.Context, do func() error) error {
	for {
		err := do()
		wait, limited := rateLimit(err)
		if !limited {
			return withoutURL(err)
		}
		if err := platform.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// plainly takes addresses out of an error: some of Slack's are secrets.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return fmt.Errorf("ask Slack: %w", withURL.Err)
	}
	return err
}

// scopeNeeded says which scope is missing for a method.
func scopeNeeded(method string, err error) string {
	var answer slackgo.SlackErrorResponse
	if errors.As(err, &answer) && answer.Needed != "" {
		return answer.Needed
	}
	return scopes[method]
}

// botTrouble says what is wrong with the bot token, if that is what err says.
func explainBotError(method string, err error) error {
	switch code := codeOf(err); {
	case code == "missing_scope":
		return setupError(fmt.Sprintf("the app lacks the scope %s: %s", scopeNeeded(method, err), clickScope))
	case slices.Contains(wrongToken, code):
		return setupError(fmt.Sprintf("Slack does not take the bot token (%s): %s", code, clickBotToken))
	}
	return err
}

// appTrouble says what is wrong with the app-level token, if that is what err says.
func explainAppError(err error) error {
	if code := codeOf(err); code == "missing_scope" || slices.Contains(wrongToken, code) {
		return setupError(fmt.Sprintf("Slack does not take the app-level token (%s): %s", code, clickAppToken))
	}
	return err
}

// fail ends Run if err is trouble.
func (s *Slack) stopIfSetupError(err error) {
	var t setupError
	if errors.As(err, &t) {
		s.stop(t)
	}
}
