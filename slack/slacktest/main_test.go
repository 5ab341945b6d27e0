// What the tests share: a workspace that is cleaned up, and bare slack-go clients.
package slacktest_test

import (
	"flag"
	"net/http"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"go.uber.org/goleak"

	"cairn/internal/check"
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
	return slacktest.Options{AckWithin: soon, WarnFor: 100 * time.Millisecond}
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

// town is a workspace with ann in a channel.
func town(t *testing.T, o slacktest.Options) (s *slacktest.Server, general, ann string) {
	t.Helper()
	s = start(t, o)
	ann = s.AddUser("ann")
	return s, s.AddChannel("general", ann), ann
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

func eventually(t *testing.T, s *slacktest.Server, what string, condition func() bool) {
	t.Helper()
	check.Require(t, s.Wait(soon, condition), "never: %s", what)
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// error3 is the error of a call that returns two values more, error4 that of one with three.
func error3[A, B any](_ A, _ B, err error) error         { return err }
func error4[A, B, C any](_ A, _ B, _ C, err error) error { return err }
