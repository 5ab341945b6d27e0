// The app manifest, and the options.

package slack

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// manifestFile is what of an app manifest the connector depends on.
type manifestFile struct {
	Display struct {
		Name, Description string
		Long              string `json:"long_description"`
	} `json:"display_information"`
	Features struct {
		AppHome struct {
			Messages bool `json:"messages_tab_enabled"`
			ReadOnly bool `json:"messages_tab_read_only_enabled"`
		} `json:"app_home"`
		Commands []struct {
			Command, Description string
			Escape               bool `json:"should_escape"`
		} `json:"slash_commands"`
	}
	Settings struct {
		Events struct {
			Bot []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool `json:"is_enabled"`
		}
		SocketMode bool `json:"socket_mode_enabled"`
	}
}

func TestTheManifestSwitchesOnWhatIsNeeded(t *testing.T) {
	var m manifestFile
	check.NoError(t, json.Unmarshal(manifestJSON, &m))
	check.EqualAll(t, "the events, which are those of every kind of channel", m.Settings.Events.Bot,
		[]string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim"})
	messages := m.Features.AppHome.Messages && !m.Features.AppHome.ReadOnly
	check.That(t, m.Settings.SocketMode && m.Settings.Interactivity.Enabled && messages, "Socket Mode, buttons or direct messages are off: %+v", m)
	check.Len(t, "commands", m.Features.Commands, 1)
	check.That(t, m.Features.Commands[0].Command == "/cairn" && !m.Features.Commands[0].Escape, "%+v", m.Features.Commands)
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
