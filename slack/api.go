// The Web API: its clients, which reduce messages that slack-go cannot decode to the fields that it can, authentication,
// and the address at which an app is created.

package slack

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

const (
	callTimeout = 15 * time.Second // of one request
	maxRetries  = 10               // of one request
)

// api has the clients of the Web API. read and write wait for rate limits. read also retries after failures of the
// server or the connection; write does not, because the request may have taken effect.
type api struct {
	read, write *slackgo.Client
	once        *slackgo.Client // never retries
	http        *http.Client
}

func newAPI(o Options) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	client := &http.Client{Transport: readableTransport{platform.Bounded{Transport: transport}}, Timeout: callTimeout, CheckRedirect: sameHost}
	options := []slackgo.Option{
		slackgo.OptionHTTPClient(withoutURLs{client}), slackgo.OptionAPIURL(cmp.Or(o.APIBase, slackgo.APIURL)), slackgo.OptionAppLevelToken(o.AppToken),
		slackgo.OptionLog(log.New(io.Discard, "", 0)),
	}
	retry := slackgo.RetryConfig{
		MaxRetries: maxRetries, RetryAfterDuration: defaultRateLimitWait,
		BackoffInitial: 300 * time.Millisecond, BackoffMax: 3 * time.Second, BackoffJitter: 50 * time.Millisecond,
	}
	retrying := func(handlers ...slackgo.RetryHandler) *slackgo.Client {
		retry := retry
		retry.Handlers = append(handlers, slackgo.NewRateLimitErrorRetryHandler(retry))
		return slackgo.New(o.BotToken, slices.Concat(options, []slackgo.Option{slackgo.OptionRetryConfig(retry)})...)
	}
	return &api{
		read:  retrying(slackgo.NewConnectionErrorRetryHandler(), slackgo.NewServerErrorRetryHandler(retry)),
		write: retrying(), once: slackgo.New(o.BotToken, options...),
		http: client,
	}
}

type withoutURLs struct{ *http.Client }

func (c withoutURLs) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(r)
	return resp, platform.WithoutURL(err)
}

// sameHost rejects redirects to another host or scheme, because requests contain a token.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if !strings.EqualFold(r.URL.Host, first.Host) || r.URL.Scheme != first.Scheme || len(via) >= 5 {
		return errors.New("redirected to another host, or too often")
	}
	return nil
}

// waitAfter returns pause, or more if err is a rate limit and Slack asks for it.
func waitAfter(pause time.Duration, err error) time.Duration {
	asked, _ := rateLimit(err)
	return max(pause, asked)
}

// probeBot finds out who the bot is. slack-go itself would retry with an invalid token forever.
func (s *Slack) probeBot(ctx context.Context) error {
	who, err := s.api.once.AuthTestContext(ctx)
	if err != nil {
		return explainBotError(err)
	}
	if who.UserID == "" {
		return errors.New("auth.test: the answer says nothing")
	}
	s.self = self{team: who.TeamID, workspace: who.Team, user: who.UserID, bot: who.BotID, name: who.User, since: time.Now()}
	return s.checkScopes(who.Header)
}

func (s *Slack) probeApp(ctx context.Context) error {
	_, _, err := s.api.once.StartSocketModeContext(ctx)
	return explainSocketError(err)
}

// checkScopes compares the token's scopes, if Slack lists them, with the manifest's. Only a missing chat:write is an error.
func (s *Slack) checkScopes(header http.Header) error {
	granted := strings.FieldsFunc(header.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(granted) == 0 {
		return nil
	}
	missing := slices.DeleteFunc(manifestScopes(), func(scope string) bool { return slices.Contains(granted, scope) })
	if slices.Contains(missing, "chat:write") {
		return platform.SetupError("the app lacks the scope chat:write: " + clickScope)
	}
	if len(missing) > 0 {
		s.Log.Warn("scopes_missing", "scopes", strings.Join(missing, ","), "remedy", clickScope)
	}
	return nil
}

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

// Check asks Slack what the tokens allow, and returns its findings, one sentence each, or an error: what a person has to do.
func (s *Slack) Check(ctx context.Context) (facts []string, err error) {
	defer s.api.http.CloseIdleConnections()
	if err = s.probeBot(ctx); err == nil {
		err = s.probeApp(ctx)
	}
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("both tokens are good: the app is %s in workspace %s", s.self.name, s.self.team)}, nil
}

// CheckBotToken asks Slack, or the server at apiBase, for the names of a token's app and workspace. Errors are those of Check.
func CheckBotToken(ctx context.Context, token, apiBase string) (app, workspace string, err error) {
	s, err := withTokens(token, "xapp-unused", apiBase)
	if err != nil {
		return "", "", err
	}
	defer s.api.http.CloseIdleConnections()
	err = s.probeBot(ctx)
	return s.self.name, s.self.workspace, err
}

// CheckAppToken asks Slack, or the server at apiBase, whether a token is valid for Socket Mode. Errors are those of Check.
func CheckAppToken(ctx context.Context, token, apiBase string) error {
	s, err := withTokens("xoxb-unused", token, apiBase)
	if err != nil {
		return err
	}
	defer s.api.http.CloseIdleConnections()
	return s.probeApp(ctx)
}

func withTokens(bot, app, apiBase string) (*Slack, error) {
	return New(Options{BotToken: bot, AppToken: app, APIBase: apiBase, Log: slog.New(slog.DiscardHandler)})
}

// readable drops the fields of a message that slack-go cannot decode, which would make a whole page of a history unreadable.
func readable(raw json.RawMessage) (cleaned json.RawMessage, m slackgo.Message, ok bool) {
	if json.Unmarshal(raw, &m) == nil {
		return raw, m, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, slackgo.Message{}, false
	}
	for key, value := range fields {
		if key == "message" || key == "previous_message" { // in the event of an edit or a deletion
			value, _, _ = readable(value)
		}
		if alone, err := json.Marshal(map[string]json.RawMessage{key: value}); err != nil || json.Unmarshal(alone, new(slackgo.Message)) != nil {
			delete(fields, key)
		} else {
			fields[key] = value
		}
	}
	cleaned, err := json.Marshal(fields)
	m = slackgo.Message{}
	return cleaned, m, err == nil && json.Unmarshal(cleaned, &m) == nil
}

var messageMethods = []string{"conversations.history", "conversations.replies", "chat.postMessage", "chat.update"}

// readableTransport makes the messages in responses of the Web API readable.
type readableTransport struct{ platform.Bounded }

func (p readableTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := p.Bounded.RoundTrip(r)
	if err != nil || a.StatusCode != http.StatusOK || !slices.Contains(messageMethods, path.Base(r.URL.Path)) {
		return a, err
	}
	body, err := io.ReadAll(a.Body)
	a.Body.Close()
	if err != nil {
		return nil, err
	}
	if blank, ok := r.Context().Value(blankKey{}).(*bool); ok {
		*blank = isBlank(body)
	}
	body = readableBody(body)
	a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return a, nil
}

// blankKey is the context key of a *bool that reports whether the message that a request posted or edited is blank.
type blankKey struct{}

// isBlank reports whether a response contains a message that is blank.
func isBlank(body []byte) bool {
	var answer struct {
		OK      bool `json:"ok"`
		Message *struct {
			Text        *string           `json:"text"`
			Blocks      []json.RawMessage `json:"blocks"`
			Attachments []json.RawMessage `json:"attachments"`
		} `json:"message"`
	}
	if json.Unmarshal(body, &answer) != nil || !answer.OK || answer.Message == nil {
		return false
	}
	m := answer.Message
	return m.Text != nil && strings.TrimSpace(*m.Text) == "" && len(m.Blocks)+len(m.Attachments) == 0
}

// readableBody returns a response in which every message of a history can be decoded: it drops fields that
// cannot be, or all fields of a message if need be. Of a message that was posted slack-go returns nothing.
func readableBody(body []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	delete(fields, "message")
	var many []json.RawMessage
	if json.Unmarshal(fields["messages"], &many) == nil && many != nil {
		for i, one := range many {
			var ok bool
			if many[i], _, ok = readable(one); !ok {
				many[i] = json.RawMessage(`{}`) // without a ts, so that History knows the page is incomplete
			}
		}
		fields["messages"], _ = json.Marshal(many) // valid JSON can always be encoded, here and below
	}
	cleaned, _ := json.Marshal(fields)
	return cleaned
}
