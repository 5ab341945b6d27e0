package slack

import (
	"testing"
	"time"

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
