// What the tests share: a workspace that is cleaned up, and bare slack-go clients.
package slacktest_test

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"

	"cairn/slack/slacktest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait, side by side.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// soon is long enough for everything that happens at all, on a busy machine too.
const soon = 2 * time.Minute

// calm are the times of a workspace in which nothing runs out because a test is late.
func calm() slacktest.Options {
	return slacktest.Options{AckWithin: soon, TriggerLife: soon, WarnFor: 100 * time.Millisecond}
}

// hasty is a workspace that soon delivers again, four times in all, what nobody acknowledges.
func hasty() slacktest.Options {
	o := calm()
	o.AckWithin, o.Redeliver = 50*time.Millisecond, []time.Duration{0, 50 * time.Millisecond, 50 * time.Millisecond}
	return o
}

// start is a workspace that ends with the test. Tests that have one run side by side.
func start(t *testing.T, o slacktest.Options) *slacktest.Server {
	t.Helper()
	t.Parallel()
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

// settled waits until nothing can be delivered again.
func settled(t *testing.T, s *slacktest.Server) {
	t.Helper()
	eventually(t, s, "settled", func() bool { return s.Pending() == 0 })
}
