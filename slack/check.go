// Setup: the address at which an app is created, and checks of the tokens.

package slack

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// manifestJSON describes the app to Slack: its scopes, events and command.
//
//go:generate cp manifest.json ../deploy/slack-manifest.json
//go:embed manifest.json
var manifestJSON []byte

// manifestScopes returns the scopes that the manifest requests.
func manifestScopes() []string {
	var m struct {
		OAuth struct {
			Scopes struct{ Bot []string }
		} `json:"oauth_config"`
	}
	_ = json.Unmarshal(manifestJSON, &m) // a test checks that it is valid
	return m.OAuth.Scopes.Bot
}

// CreateURL returns the address at which people create the app from its manifest.
func CreateURL() string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, manifestJSON) // a test checks that it is valid
	return "https://api.slack.com/apps?new_app=1&manifest_json=" + strings.ReplaceAll(url.QueryEscape(compact.String()), "+", "%20")
}

// Check asks Slack whether the tokens are valid and what they allow, without connecting. It returns
// its findings, one sentence each. The error says what a person has to do, or that Slack cannot be
// reached.
func (s *Slack) Check(ctx context.Context) (facts []string, err error) {
	defer s.api.close()
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("both tokens are good: the app is %s in workspace %s", s.self.name, s.self.team)}, nil
}

// CheckBotToken asks Slack, or the compatible server at apiBase, for the names of the app and the
// workspace that a bot token belongs to. Errors are those of Check.
func CheckBotToken(ctx context.Context, token, apiBase string) (app, workspace string, err error) {
	s, err := withTokens(token, "xapp-unused", apiBase)
	if err != nil {
		return "", "", err
	}
	defer s.api.close()
	err = s.probeBot(ctx)
	return s.self.name, s.self.workspace, err
}

// CheckAppToken asks Slack, or the compatible server at apiBase, whether an app-level token is
// valid for Socket Mode. Errors are those of Check.
func CheckAppToken(ctx context.Context, token, apiBase string) error {
	s, err := withTokens("xoxb-unused", token, apiBase)
	if err != nil {
		return err
	}
	defer s.api.close()
	return s.probeApp(ctx)
}

func withTokens(bot, app, apiBase string) (*Slack, error) {
	return New(Options{BotToken: bot, AppToken: app, APIBase: apiBase, Log: slog.New(slog.DiscardHandler)})
}
