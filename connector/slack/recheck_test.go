package slack

import (
	"testing"
	"time"

	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestEventsThatSlackLostAreNoticed(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.tune = func(s *Slack) { s.RecheckAfter(200*time.Millisecond, 100*time.Millisecond) }
	r.begin()
	r.ask(general, ann, 1)
	r.w.Lose(2) // the mention comes as app_mention, too
	r.ask(general, ann, 2)
	r.ask(general, ann, 3)
}

// A socket may answer each PING and deliver nothing.
func TestADeafSocketIsReplacedOnce(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{PingEvery: 50 * time.Millisecond}, answerN)
	r.tune = func(s *Slack) { s.RecheckAfter(time.Hour, channeltest.RecheckDelay) }
	r.begin()
	replaced := func() bool { open := r.w.Sockets(); return len(open) == 1 && open[0].ID == 2 }
	r.ReplacesDeafConnectionOnce(channeltest.DeafConnection{
		Say:      func(n int) { r.say(general, ann, n) },
		Answered: func(n int) { r.awaitAnswers(general, n) },
		Deafen:   func() { r.w.Sockets()[0].Deafen() },
		Recheck:  func() { r.connector.Link.Recheck() },
		Replaced: func() { r.eventually("there is another socket", replaced) },
	})
	check.That(t, replaced(), "there is a third socket")
}

// Beside other processes, that nothing arrives may be because they get it, or because the socket is deaf.
func TestQuietSocketBesideOthersIsReplaced(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{PingEvery: 50 * time.Millisecond}, answerN)
	r.tune = func(s *Slack) {
		s.RecheckAfter(200*time.Millisecond, 100*time.Millisecond)
		s.Beside = func() bool { return true }
	}
	r.begin()
	r.w.Sockets()[0].Deafen()
	r.eventually("there is another socket", func() bool { open := r.w.Sockets(); return len(open) == 1 && open[0].ID == 2 })
}
