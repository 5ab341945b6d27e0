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

	"cairn/channel"
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

// Workings are the values of Options.Working. Where Slack shows no status, as in a channel or
// without the scope, "status" means "reaction".
var Workings = []string{workingStatus, workingReaction, workingPlaceholder, workingOff}

// ReplyPlaces are the values of Options.ReplyIn. "auto" is a thread under the answered message, but
// no thread in direct messages.
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

// check validates the options and returns them with defaults filled in. The error says what is
// wrong, and where to find a missing token.
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
			base.Path = "/api/" // the usual path
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
	o.CatchUp, o.Log = cmp.Or(o.CatchUp, channel.DefaultCatchUp), cmp.Or(o.Log, slog.Default())
	return o, nil
}
