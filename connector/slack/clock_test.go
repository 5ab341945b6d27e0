// A machine whose clock is wrong.

package slack

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestWhatWasMissedIsAnsweredThoughTheClockIsWrong(t *testing.T) {
	for claim, ahead := range map[string]time.Duration{"this machine is fast": -2 * time.Hour, "this machine is slow": 2 * time.Hour} {
		t.Run(claim, func(t *testing.T) {
			o := unhelpful()
			o.Ahead = ahead
			r, general, ann := connectedRig(t, o, answerN)
			hushed := r.w.AddChannel("hushed", ann)
			r.ask(general, ann, 1)
			r.end()
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "missed"})
			r.w.Say(slacktest.Post{Channel: hushed, User: ann, Text: mention + "missed where nothing was ever said"})
			r.begin()
			r.eventually("answers to both", func() bool { return len(r.said(general)) == 2 && len(r.said(hushed)) == 1 }) // in any order
			check.Contains(t, "log", r.Log.String(), "clock_wrong")
			r.end() // doctor checks a connector that does not run
			facts := check.Must(r.connector.Check(t.Context()))(t)
			check.Contains(t, "what doctor shows", strings.Join(facts, "\n"), "the clock of this machine is 2h0m")
		})
	}
}
