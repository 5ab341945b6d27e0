// The app manifest, and the options.

package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestTheManifestSwitchesOnWhatIsNeeded(t *testing.T) {
	var m struct {
		Display struct {
			Name, Description string
			Long              string `json:"long_description"`
		} `json:"display_information"`
	}
	var compact bytes.Buffer
	check.NoError(t, errors.Join(json.Unmarshal(manifestJSON, &m), json.Compact(&compact, manifestJSON)))
	check.Contains(t, "the manifest", compact.String(),
		`"bot_events":["app_mention","message.channels","message.groups","message.im","message.mpim"]`, // of every kind of channel
		`"socket_mode_enabled":true`, `"interactivity":{"is_enabled":true`, `"messages_tab_enabled":true`, `"messages_tab_read_only_enabled":false`,
		`"slash_commands":[{"command":"/cairn",`, `"should_escape":false}]`)
	for text, limits := range map[string][2]int{m.Display.Name: {1, 35}, m.Display.Description: {1, 140}, m.Display.Long: {174, 4000}} { // Slack's
		check.That(t, len(text) >= limits[0] && len(text) <= limits[1], "%q has %d characters", text, len(text))
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	for claim, c := range map[string]struct {
		o    Options
		want string
	}{
		"no bot token":                 {Options{AppToken: "xapp-1"}, "bot token is missing"},
		"no app-level token":           {Options{BotToken: "xoxb-1"}, "App-Level Tokens"},
		"tokens in each other's place": {Options{BotToken: "xapp-1", AppToken: "xoxb-1"}, "Bot User OAuth Token"},
		"a user's token":               {Options{BotToken: "xoxp-1", AppToken: "xapp-1"}, "xoxb-…"},
		"an address without a scheme":  {Options{BotToken: "xoxb-1", AppToken: "xapp-1", APIBase: "localhost:80"}, "api_base"},
	} {
		check.ErrorContains(t, claim, check.ErrorOf(New(c.o)), c.want)
	}
	s := check.Must(New(Options{BotToken: "any", AppToken: "thing", APIBase: "http://localhost:8080/api"}))(t)
	check.Equal(t, "the address of a compatible server, which has tokens of its own", s.o.APIBase, "http://localhost:8080/api/")
}

func TestTheManifestIsTheOneOfTheLink(t *testing.T) {
	deployed := check.Must(os.ReadFile("../deploy/slack-manifest.json"))(t)
	check.Equal(t, "deploy/slack-manifest.json (run go generate ./slack)", string(deployed), string(manifestJSON))
	page := check.Must(os.ReadFile("../docs/slack.md"))(t)
	var want, got any
	query := check.Must(url.Parse(CreateURL()))(t).Query()
	check.NoError(t, errors.Join(json.Unmarshal(manifestJSON, &want), json.Unmarshal([]byte(query.Get("manifest_json")), &got)))
	check.That(t, reflect.DeepEqual(got, want) && query.Get("new_app") == "1", "the link makes another app: %v", got)
	check.Contains(t, "docs/slack.md", string(page), "[create]: "+CreateURL()+"\n")
}

func TestEachTokenIsCheckedAlone(t *testing.T) {
	server := slacktest.New(slacktest.Options{})
	defer server.Close()
	ctx := t.Context()
	app, workspace, err := CheckBotToken(ctx, slacktest.BotToken, server.APIURL)
	check.That(t, err == nil && app == "app" && workspace == "slacktest", "%q, %q, %v", app, workspace, err)
	check.NoError(t, CheckAppToken(ctx, slacktest.AppToken, server.APIURL))
	for want, err := range map[string]error{
		"Slack rejects the bot token (invalid_auth)": failure3(CheckBotToken(ctx, "xoxb-wrong", server.APIURL)),
		"not a bot token":             failure3(CheckBotToken(ctx, slacktest.AppToken, server.APIURL)),
		"not an app-level token":      CheckAppToken(ctx, slacktest.BotToken, server.APIURL),
		"rejects the app-level token": CheckAppToken(ctx, "xapp-wrong", server.APIURL),
	} {
		check.ErrorContains(t, "the error", err, want)
	}
}

// failure3 is the error of a call that returns two values more.
func failure3[A, B any](_ A, _ B, err error) error { return err }
