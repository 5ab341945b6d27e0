// What the tests share: a workspace that is cleaned up, and bare slack-go clients.
package slacktest_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"

	"cairn/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is long enough for everything that happens at all, on a busy machine too.
const soon = 10 * time.Second

// quick are the times of a workspace that is in a hurry.
func quick() slacktest.Options {
	return slacktest.Options{
		AckWithin: 100 * time.Millisecond, Redeliver: []time.Duration{0, 50 * time.Millisecond, 50 * time.Millisecond},
		WarnFor: 100 * time.Millisecond,
	}
}

func start(t *testing.T, o slacktest.Options) *slacktest.Server {
	t.Helper()
	s := slacktest.New(o)
	t.Cleanup(s.Close)
	return s
}

// client is a slack-go client with a connection pool of its own.
func client(t *testing.T, s *slacktest.Server, more ...slack.Option) *slack.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	options := append([]slack.Option{
		slack.OptionAPIURL(s.APIURL), slack.OptionAppLevelToken(slacktest.AppToken),
		slack.OptionHTTPClient(&http.Client{Transport: transport}),
	}, more...)
	return slack.New(slacktest.BotToken, options...)
}

// run connects a socket-mode client until the test ends.
func run(t *testing.T, api *slack.Client, more ...socketmode.Option) *socketmode.Client {
	realTime(t)
	t.Helper()
	quiet := socketmode.OptionLog(log.New(io.Discard, "", 0))
	sm := socketmode.New(api, append([]socketmode.Option{quiet}, more...)...)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = sm.RunContext(ctx) // it ends with the context's error, or as the test expects
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return sm
}

// next waits for an event of this type; others are passed over.
func next(t *testing.T, sm *socketmode.Client, wanted socketmode.EventType) socketmode.Event {
	t.Helper()
	timeout := time.After(soon)
	for {
		select {
		case e := <-sm.Events:
			if e.Type == wanted {
				return e
			}
		case <-timeout:
			t.Fatalf("no event of type %s", wanted)
		}
	}
}

// ackAll acknowledges what comes, until the test ends, and passes it on.
func ackAll(t *testing.T, sm *socketmode.Client) <-chan socketmode.Event {
	t.Helper()
	seen := make(chan socketmode.Event, 5000)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-sm.Events:
				if e.Request != nil && e.Request.EnvelopeID != "" {
					_ = sm.AckCtx(ctx, e.Request.EnvelopeID, nil) // only the end of the test keeps it from being sent
				}
				seen <- e
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return seen
}

func eventually(t *testing.T, s *slacktest.Server, what string, condition func() bool) {
	t.Helper()
	if !s.Wait(soon, condition) {
		t.Fatalf("never: %s", what)
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// realTime keeps a test for people who ask for it: it runs a real client library over
// real sockets in real time, and a busy machine may make it late.
func realTime(t *testing.T) {
	t.Helper()
	if os.Getenv("CAIRN_REAL_TIME") == "" {
		t.Skip("set CAIRN_REAL_TIME=1 to run the client library against the double")
	}
}
