// The settings of the connector.

package slack

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options are the settings of the connector.
type Options struct {
	BotToken         string        // xoxb-…; never logged
	AppToken         string        // xapp-…, with connections:write; never logged
	APIBase          string        // Web API of a compatible server, as "http://localhost:8080/api/"; empty: Slack itself
	AttachmentTokens int           // of text files, for each message; 0: their contents are not read
	Pictures         bool          // fetch pictures, for models that can see
	Working          string        // how people see at once that the bot works on an answer, one of Workings; empty: "status"
	ReplyIn          string        // where an answer to a message of a channel is posted, one of ReplyPlaces; empty: "auto"
	CatchUp          time.Duration // how far back to look, after an absence, in channels that nothing is known of; 0: an hour
	Log              *slog.Logger  // nil: slog.Default()
}

// Workings are the values of Options.Working. Where "status" is not shown, in a channel
// or for want of a scope, it is a reaction.
var Workings = []string{workingStatus, workingReaction, workingPlaceholder, workingOff}

// ReplyPlaces are the values of Options.ReplyIn. "auto" is a thread under the message that is
// answered, and in a direct message the conversation itself.
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

// check completes the options. The error says what is missing and where to find it.
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
		if base.Path = strings.TrimRight(base.Path, "/") + "/"; base.Path == "/" {
			base.Path = "/api/" // as everybody has it
		}
		o.APIBase = base.String()
	}
	o.Working, o.ReplyIn = cmp.Or(o.Working, workingStatus), cmp.Or(o.ReplyIn, replyAuto)
	if !slices.Contains(Workings, o.Working) {
		return o, fmt.Errorf("working = %q: must be one of %s", o.Working, strings.Join(Workings, ", "))
	}
	if !slices.Contains(ReplyPlaces, o.ReplyIn) {
		return o, fmt.Errorf("reply_in = %q: must be one of %s", o.ReplyIn, strings.Join(ReplyPlaces, ", "))
	}
	if o.CatchUp == 0 {
		o.CatchUp = time.Hour
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, nil
}
