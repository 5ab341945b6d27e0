// A machine whose clock is wrong.

package slack

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestWhatWasMissedIsAnsweredThoughTheClockIsWrong(t *testing.T) {
	channeltest.WrongClock(t, func(t *testing.T, ahead time.Duration) (log, facts string) {
		o := unhelpful()
		o.Ahead = ahead
		r, general, ann := connectedRig(t, o, answerN)
		hushed := r.w.AddChannel("hushed", ann)
		r.ask(general, ann, 1)
		r.end()
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "missed"})
		r.w.Say(slacktest.Post{Channel: hushed, User: ann, Text: mention + "missed in a new place"})
		r.begin()
		r.eventually("answers to both", func() bool { return len(r.botTexts(general)) == 2 && len(r.botTexts(hushed)) == 1 }) // in any order
		r.end()                                                                                                               // doctor checks a connector that does not run
		return r.Log.String(), strings.Join(check.Must(r.connector.Check(t.Context()))(t), "\n")
	})
}
