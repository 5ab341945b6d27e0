// Package slack connects Cairn to Slack: events come over Socket Mode, replies go to the Web API.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"
	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// Name is the first part of the names of Slack conversations.
const Name = "slack"

// Slack is the connector. Its methods are safe for concurrent use.
type Slack struct {
	*platform.Base
	o     Options
	times times
	api   *api
	files platform.Files

	queue       platform.KeyedQueue[event]  // message events, by channel
	names       names                       // of people and channels
	authors     platform.Cache              // authors of messages, by channel and ts
	replies     platform.Cache              // threads of messages, by channel and ts
	claims      platform.Cache              // what the bot's messages belong to, by channel and ts; see writer.claim
	threads     platform.Cache              // the first message seen in a thread, and the first reply to the bot there: see firstReplyKey
	deletions   platform.Cache              // deleted messages, by channel and ts
	edits       platform.Cache              // edited messages, as JSON, by channel and ts
	cannotReact atomic.Bool                 // the app lacks the scope
	unread      sync.Map                    // gapPages of histories longer than a page, by place
	known       platform.KeyedQueue[missed] // backfills of conversations with a gap
	unknown     platform.KeyedQueue[missed] // backfills of unknown channels
	pace        *rate.Limiter               // of conversations that are backfilled
	draining    atomic.Bool                 // the latest socket is still read, see socket.drain
	plain       atomic.Bool                 // the server does not support Markdown
	self        self                        // set before the group of goroutines is opened
	renamed     atomic.Pointer[string]      // the bot's name since an event changed it; nil: self has it

	// Used only by the goroutine in Run.
	lastRead   time.Time // when the last socket last received anything, by Slack's clock
	firstHello time.Time // when a bot without earlier conversations first connected, by Slack's clock
}

type self struct {
	team, user, bot, name string
	workspace             string    // name of the team
	since                 time.Time // when this process authenticated, by Slack's clock
}

// times are the connector's waits and timeouts. Tests set shorter ones.
type times struct {
	edit     time.Duration // between two edits of a message; chat.update allows 50 a minute
	status   time.Duration // after which a status is renewed; Slack removes it after 2 minutes
	dropped  time.Duration // how long Slack drops events before it says so again
	silence  time.Duration // after which a socket counts as dead; a third of it is between two PINGs
	answer   time.Duration // before the answer to a command is tried again
	list     time.Duration // before the second attempt to list the channels; it doubles
	complete time.Duration // for looking up the names and files of one message
	check    time.Duration // for what Check reads of the channels

	retry platform.Backoff // before showing a reply is tried again
}

var (
	_ channel.Connector = (*Slack)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Completer = (*Slack)(nil)
	_ channel.Historian = (*Slack)(nil)
	_ channel.Reactor   = (*Slack)(nil)
	_ channel.Whisperer = (*Slack)(nil)
	_ channel.Speller   = (*Slack)(nil)

	_ channel.WriteChecker = (*Slack)(nil)
)

// Options are the settings of the connector.
type Options struct {
	BotToken         string        // xoxb-…; never logged
	AppToken         string        // xapp-…, with connections:write; never logged
	APIBase          string        // Web API of a compatible server, e.g. "http://localhost:8080/api/"; empty: Slack itself
	AttachmentTokens int           // for text files, per message; 0: text files are not fetched
	Pictures         bool          // fetch pictures, for models that can see
	Working          string        // how the bot shows that it is working on an answer, one of Workings; empty: "status"
	ReplyIn          string        // where answers to messages outside of threads are posted, one of ReplyPlaces; empty: "auto"
	CatchUp          time.Duration // how far back to read unknown channels after the bot was offline; 0: channel.DefaultCatchUp
	Log              *slog.Logger  // nil: slog.Default()
}

// Workings are the values of Options.Working. Where Slack shows no status, "status" means "reaction".
var Workings = []string{workingStatus, workingReaction, workingPlaceholder, workingOff}

// ReplyPlaces are the values of Options.ReplyIn. "auto" is a thread under the answered message, but no thread in direct messages.
var ReplyPlaces = []string{replyAuto, replyThread, replyChannel}

const (
	workingStatus      = "status"
	workingReaction    = "reaction"
	workingPlaceholder = "placeholder"
	workingOff         = "off"

	replyAuto    = "auto"
	replyThread  = "thread"
	replyChannel = "channel"
)

// New returns a connector, which does nothing before Run.
func New(o Options) (*Slack, error) {
	o, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	base := platform.NewBase(Name, o.Log)
	base.Link.Reason = codeOf
	base.Link.Hint = silentHint
	base.Link.Pause = platform.Backoff{First: time.Second, Most: maxPause}
	base.Link.Steady = 5 * time.Second
	s := &Slack{
		Base: base, o: o, api: newAPI(o, &base.Clock), pace: rate.NewLimiter(rate.Every(pagePause), maxImmediate),
		times: times{
			edit: 1200 * time.Millisecond, status: 90 * time.Second, dropped: time.Minute, silence: 30 * time.Second, answer: time.Second,
			list: time.Minute, complete: 10 * time.Second, check: platform.CheckTime, retry: platform.Backoff{First: 500 * time.Millisecond, Most: 5 * time.Second},
		},
	}
	s.queue = platform.KeyedQueue[event]{Group: s.Work, Do: s.handle}
	s.known = platform.KeyedQueue[missed]{Group: s.Work, Do: func(waiting []missed) { s.catchUp(merge(waiting)) }}
	s.unknown = platform.KeyedQueue[missed]{Group: s.Work, Do: func(waiting []missed) { s.catchUpUnknown(merge(waiting)) }}
	s.MissedAfter = func(newest, first string, since time.Time) string {
		if timeOf(newest).Before(since) {
			return ""
		}
		return gapAfter(s.Clock.Now())(newest, first)
	}
	s.files = platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: s.fetch, Convert: s.fileText}
	return s, nil
}

// check returns the options with defaults. The error says what is wrong, and where to find a missing token.
func (o Options) check() (Options, error) {
	switch {
	case o.BotToken == "":
		return o, errors.New("the bot token is missing: " + clickBotToken)
	case o.AppToken == "":
		return o, errors.New("the app-level token is missing: " + clickAppToken)
	case strings.HasPrefix(o.BotToken, "xapp-"), o.APIBase == "" && !strings.HasPrefix(o.BotToken, "xoxb-"):
		return o, errors.New("not a bot token, expected one that starts with xoxb-: " + clickBotToken)
	case strings.HasPrefix(o.AppToken, "xoxb-"), o.APIBase == "" && !strings.HasPrefix(o.AppToken, "xapp-"):
		return o, errors.New("not an app-level token, expected one that starts with xapp-: " + clickAppToken)
	}
	if o.APIBase != "" {
		base, err := url.Parse(o.APIBase)
		if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
			return o, fmt.Errorf("api_base is not a server address: write it as %q", "http://localhost:8080/api/")
		}
		base.Path = strings.TrimRight(base.Path, "/") + "/"
		if base.Path == "/" {
			base.Path = "/api/" // the usual path
		}
		o.APIBase = base.String()
	}
	o.Working, o.ReplyIn = cmp.Or(o.Working, workingStatus), cmp.Or(o.ReplyIn, replyAuto) // package config has checked them
	o.CatchUp = cmp.Or(o.CatchUp, channel.DefaultCatchUp)
	return o, nil
}

// silentHint is what to check when Slack, or a compatible server, does not answer.
const silentHint = "check that a firewall or proxy lets HTTPS and WebSockets to Slack through, and the server behind api_base if it is set; outages: https://slack-status.com"

// Run serves Slack until ctx is done, then returns nil; or an error that says what a person has to fix. It runs only once.
func (s *Slack) Run(ctx context.Context, hub *channel.Hub) error {
	return s.Serve(ctx, hub, s.api.http, s.supervise)
}

func (s *Slack) place(channelID, thread string) chat.Place {
	return chat.Place{Connector: Name, Server: s.self.team, Channel: channelID, Thread: thread}
}

// Instructions for setup errors.
const (
	clickBotToken   = "copy it from api.slack.com/apps → your app → OAuth & Permissions → Bot User OAuth Token (xoxb-…)"
	clickAppToken   = "create one at api.slack.com/apps → your app → Basic Information → App-Level Tokens, with the scope connections:write (xapp-…)"
	clickScope      = "add it at api.slack.com/apps → your app → OAuth & Permissions → Scopes → Bot Token Scopes, then install the app again"
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
func (s *Slack) stopIfSetupError(err error) error {
	err = explainBotError(err)
	if setup, ok := errors.AsType[platform.SetupError](err); ok {
		s.Work.Cancel(setup)
	}
	return err
}

// Error codes for a message that cannot be replied to in a thread, and for one that cannot be edited, so that a new
// one is needed.
var (
	noReplyCodes = []string{"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message", "restricted_action_non_threadable_channel"}
	noEditCodes  = []string{"message_not_found", "cant_update_message", "edit_window_closed", "unknown_method", "streaming_state_conflict"}
)
