package slack

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestEventsThatSlackLostAreNoticed(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.tune = func(s *Slack) { s.LookAfter(200*time.Millisecond, 100*time.Millisecond) }
	r.begin()
	r.ask(general, ann, 1)
	r.w.Lose(2) // the mention comes as app_mention, too
	r.ask(general, ann, 2)
	r.ask(general, ann, 3)
}

// A socket may answer each PING and deliver nothing.
func TestADeafSocketIsReplacedOnce(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{PingEvery: 50 * time.Millisecond}, answerN)
	r.tune = func(s *Slack) { s.LookAfter(200*time.Millisecond, 100*time.Millisecond) }
	r.begin()
	asked := 1
	r.ask(general, ann, asked)
	replaced := func() bool { open := r.w.Sockets(); return len(open) == 1 && open[0].ID == 2 }
	r.w.Sockets()[0].Deafen()
	for range 3 { // a message written right after the last event proves nothing
		time.Sleep(200 * time.Millisecond)
		asked++
		r.ask(general, ann, asked)
		if strings.Contains(r.Log.String(), "connection_deaf") {
			break
		}
	}
	r.eventually("there is another socket", replaced)
	asked++
	r.ask(general, ann, asked)
	r.w.Sockets()[0].Deafen()
	for range 2 {
		time.Sleep(200 * time.Millisecond)
		asked++
		r.ask(general, ann, asked)
	}
	check.Equal(t, "sockets that were replaced", strings.Count(r.Log.String(), "connection_deaf"), 1)
	check.That(t, replaced(), "there is a third socket")
}
