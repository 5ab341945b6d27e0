package slack

import (
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// A bug in the handling of an event, in the goroutine of a socket or in that of a channel, ends neither.
func TestEventsThatPanic(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.tune = func(s *Slack) { s.sockets.events.commands = nil }
	r.begin()
	panics := func(n int) {
		t.Helper()
		r.eventually("a panic is logged", func() bool { return strings.Count(r.Log.String(), "msg=connector_panicked") == n })
	}
	question := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 1"})
	r.answered(general, "answer 1")
	r.w.StopAgain(general, question, ann)
	panics(1)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "/help"})
	panics(3) // it comes as a message and as a mention
	r.ask(general, ann, 2)
	check.That(t, r.connector.Connected(), "the socket has ended")
}
