// The settings of the door.

package slack

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// Options is what Slack's door works with.
type Options struct {
	BotToken         string        // xoxb-…; never logged
	AppToken         string        // xapp-…, with connections:write; never logged
	APIBase          string        // Web API of a compatible server, as "http://localhost:8080/api/"; empty: Slack itself
	AttachmentTokens int           // of text files, for each message; 0: their contents are not read
	Pictures         bool          // fetch pictures, for models that can see
	CatchUp          time.Duration // how far back to look, after an absence, in channels that nothing is known of; 0: an hour
	Log              *slog.Logger  // nil: slog.Default()
}

// check completes the options. The error says what is missing and where to find it.
func (o Options) check() (Options, error) {
	switch {
	case o.BotToken == "":
		return o, errors.New("the bot token is missing: " + clickBotToken)
	case o.AppToken == "":
		return o, errors.New("the app-level token is missing: " + clickAppToken)
	case strings.HasPrefix(o.BotToken, "xapp-"), o.APIBase == "" && !strings.HasPrefix(o.BotToken, "xoxb-"):
		return o, errors.New("the bot token is of another kind: " + clickBotToken)
	case strings.HasPrefix(o.AppToken, "xoxb-"), o.APIBase == "" && !strings.HasPrefix(o.AppToken, "xapp-"):
		return o, errors.New("the app-level token is of another kind: " + clickAppToken)
	}
	if o.APIBase != "" {
		base, err := url.Parse(o.APIBase)
		if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
			return o, fmt.Errorf("api_base is no address of a server: write it as %q", "http://localhost:8080/api/")
		}
		if base.Path = strings.TrimRight(base.Path, "/") + "/"; base.Path == "/" {
			base.Path = "/api/" // as everybody has it
		}
		o.APIBase = base.String()
	}
	if o.CatchUp == 0 {
		o.CatchUp = time.Hour
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, nil
}
