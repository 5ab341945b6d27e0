// The Web API: its clients, which decode messages themselves, authentication, and the address at which an app is created.

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

	"cairn/connector/platform"
)

const (
	callTimeout = 15 * time.Second // of one request
	maxRetries  = 10               // of one request
)

// api has the clients of the Web API. read and write wait for rate limits. read also retries after failures of the
// server or the connection; write does not, because the request may have taken effect.
type api struct {
	read, write *slackgo.Client
	once        *slackgo.Client // never retries, never waits
	http        *http.Client
	gates       *gates
}

func newAPI(o Options, clock *platform.Clock) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	caller := &http.Client{Transport: decodingTransport{platform.Bounded{Transport: transport, Clock: clock}}, Timeout: callTimeout, CheckRedirect: sameHost}
	gates := &gates{window: gateWindow}
	options := []slackgo.Option{
		slackgo.OptionHTTPClient(gatedClient{Client: caller, gates: gates}), slackgo.OptionAPIURL(cmp.Or(o.APIBase, slackgo.APIURL)), slackgo.OptionAppLevelToken(o.AppToken),
		slackgo.OptionLog(log.New(io.Discard, "", 0)),
	}
	retry := slackgo.RetryConfig{
		MaxRetries: maxRetries, RetryAfterDuration: defaultRateLimitWait,
		BackoffInitial: 300 * time.Millisecond, BackoffMax: 3 * time.Second, BackoffJitter: 50 * time.Millisecond,
	}
	client := func(more ...slackgo.Option) *slackgo.Client {
		return slackgo.New(o.BotToken, slices.Concat(options, more)...)
	}
	impatient := slackgo.OptionHTTPClient(gatedClient{Client: caller, gates: gates, impatient: true})
	a := &api{http: caller, gates: gates, once: client(impatient), write: client(slackgo.OptionRetryConfig(retry))} // by default only after rate limits
	retry.Handlers = append(slackgo.AllBuiltinRetryHandlers(retry), slackgo.NewServerErrorRetryHandler(retry))
	a.read = client(slackgo.OptionRetryConfig(retry))
	return a
}

// fetch reads a file. slack-go and sameHost keep the token from other hosts.
func (a *api) fetch(ctx context.Context, address string) ([]byte, error) {
	var into bytes.Buffer
	err := a.read.GetFileContext(ctx, address, &into)
	return into.Bytes(), err
}

// channels lists the channels of some kinds that a person is in, as far as the bot may know them, or, if person is empty, the bot. It
// reads at most maxPages pages of the list. more: there are others, or there may be, after an error.
func (a *api) channels(ctx context.Context, person string, kinds []string, maxPages int) (all []slackgo.Channel, more bool, err error) {
	cursor := ""
	for range maxPages {
		page, next, err := a.read.GetConversationsForUserContext(ctx, &slackgo.GetConversationsForUserParameters{
			UserID: person, Cursor: cursor, Types: kinds, Limit: pageSize, ExcludeArchived: person == "",
		})
		if err != nil {
			return all, true, err
		}
		all = append(all, page...)
		if next == "" || next == cursor {
			return all, false, nil
		}
		cursor = next
	}
	return all, true, nil
}

// sameHost rejects redirects to another host or scheme, because requests contain a token.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if !strings.EqualFold(r.URL.Host, first.Host) || r.URL.Scheme != first.Scheme || len(via) >= 5 {
		return errors.New("redirected to another host, or too often")
	}
	return nil
}

// probeBot finds out who the bot is. slack-go itself would retry with an invalid token forever.
func (s *Slack) probeBot(ctx context.Context) error {
	who, err := s.api.write.AuthTestContext(ctx)
	if err != nil {
		return explainBotError(err)
	}
	if who.UserID == "" {
		return errors.New("auth.test: the answer says nothing")
	}
	*s.self = self{team: who.TeamID, workspace: who.Team, url: who.URL, user: who.UserID, bot: who.BotID, name: who.User, since: s.Clock.Now()}
	granted := strings.FieldsFunc(who.Header.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	s.self.agent = slices.Contains(granted, agentScope)
	return s.checkScopes(granted)
}

func (s *Slack) probeApp(ctx context.Context) error {
	_, _, err := s.api.write.StartSocketModeContext(ctx)
	return explainSocketError(err)
}

// agentScope is the scope that Slack adds to an app that is declared as an agent (ai/agent-sessions). Others work without it.
const agentScope = "assistant:write"

// checkScopes compares the token's scopes, if Slack lists them, with the manifest's. Only a missing chat:write is an error.
func (s *Slack) checkScopes(granted []string) error {
	if len(granted) == 0 {
		return nil
	}
	wanted := manifestScopes()
	if len(s.o.Reactions) > 0 {
		wanted = append(wanted, "reactions:read")
	}
	missing := slices.DeleteFunc(wanted, func(scope string) bool { return scope == agentScope || slices.Contains(granted, scope) })
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
//go:generate cp manifest.json ../../deploy/slack-manifest.json
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
	err = s.probeBot(ctx)
	if err == nil {
		err = s.probeApp(ctx)
	}
	if err != nil {
		return nil, err
	}
	fact := fmt.Sprintf("both tokens are valid: the app is %s in workspace %s", s.self.name, s.self.team)
	facts = append([]string{fact}, s.ClockFacts()...)
	unwritable, checked, more := s.readOnly(ctx)
	if more { // how many there are, Slack does not say
		facts = append(facts, fmt.Sprintf("where it may not write was checked in %d channels, and not in the others: there are too many, or Slack does not answer in time", checked))
	}
	return append(facts, platform.UnwritableFacts(unwritable)...), nil
}

// CheckBotToken asks Slack, or the server at apiBase, for the names of a token's app and workspace. Errors are those of Check.
func CheckBotToken(ctx context.Context, token, apiBase string) (app, workspace string, err error) {
	found, err := checkToken(ctx, Options{BotToken: token, AppToken: "xapp-unused", APIBase: apiBase}, (*Slack).probeBot)
	return found.name, found.workspace, err
}

// CheckAppToken asks Slack, or the server at apiBase, whether a token is valid for Socket Mode. Errors are those of Check.
func CheckAppToken(ctx context.Context, token, apiBase string) error {
	_, err := checkToken(ctx, Options{BotToken: "xoxb-unused", AppToken: token, APIBase: apiBase}, (*Slack).probeApp)
	return err
}

func checkToken(ctx context.Context, o Options, probe func(*Slack, context.Context) error) (*self, error) {
	o.Log = slog.New(slog.DiscardHandler)
	s, err := New(o)
	if err != nil {
		return new(self), err
	}
	defer s.api.http.CloseIdleConnections()
	err = probe(s, ctx)
	return s.self, err
}

var messageMethods = []string{"conversations.history", "conversations.replies", "chat.postMessage", "chat.update"}

// answer is what slack-go does not decode of a response, or not if one message has an unknown form.
type answer struct {
	Messages []message // one without a ts could not be decoded
	Message  struct {  // was posted or edited
		Text                *string
		Blocks, Attachments []any
	}
}

// isBlank reports whether the server shows nothing of the message.
func (a answer) isBlank() bool {
	m := a.Message
	return m.Text != nil && strings.TrimSpace(*m.Text) == "" && len(m.Blocks)+len(m.Attachments) == 0
}

type answerKey struct{}

// decodedInto returns a context for requests whose responses are decoded into a.
func decodedInto(ctx context.Context, a *answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// decodingTransport keeps messages from slack-go, whose decoder would fail if one has an unknown form.
type decodingTransport struct{ platform.Bounded }

func (t decodingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Bounded.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || !slices.Contains(messageMethods, path.Base(r.URL.Path)) {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if into, ok := r.Context().Value(answerKey{}).(*answer); ok {
		*into = answer{}
		_ = platform.Decode(body, into) // slack-go reports that it is no JSON
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		delete(fields, "message")
		delete(fields, "messages")
		body, _ = json.Marshal(fields) // what was decoded can be encoded
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}
