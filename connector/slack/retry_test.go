// A reply that could not be shown is shown soon after.

package slack

import (
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// delays shows a text until that works, and returns the delays before the next attempts.
func delays(t *testing.T, w *writer, text string, most int) (all []time.Duration) {
	t.Helper()
	for len(all) < most {
		delay, more := w.showDraft(t.Context(), text)
		check.Require(t, more, "the attempts end after %v", all)
		if delay == 0 {
			break
		}
		all = append(all, delay)
	}
	return all
}

// grow checks that delays double from half a second on, up to 5 seconds. Chance shortens each, at most by half.
func grow(t *testing.T, what string, got []time.Duration) {
	t.Helper()
	for i, most := range []time.Duration{500, 1000, 2000, 4000, 5000, 5000} {
		most *= time.Millisecond
		check.That(t, i >= len(got) || got[i] >= most/2 && got[i] <= most, "%s: delays %v", what, got)
	}
}

func TestAReplyThatCouldNotBeShownIsShownSoonAfter(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, nil)
	r.tune = func(s *Slack) { s.times.retry = check.Must(New(r.opts))(t).times.retry }
	r.begin()
	q := r.question(false)
	w := r.reply(q).(*writer)
	check.Len(t, "delays", delays(t, w, "One ", 1), 0)
	r.w.Fail(slacktest.Fault{Of: "chat.update", Status: 503, Body: "busy", Times: 6})
	got := delays(t, w, "One two ", 10)
	check.Len(t, "delays", got, 6)
	grow(t, "after errors of the server", got)
	r.w.Fail(slacktest.Fault{Of: "chat.update", Cut: true, Done: true}, slacktest.Fault{Of: "chat.update", RetryAfter: 3 * time.Second})
	got = delays(t, w, "One two three ", 2)
	grow(t, "after one that succeeded", got[:1])
	check.That(t, got[1] > 2*time.Second && got[1] <= 3*time.Second, "Slack asks for 3 s, and it waits %v", got[1])
	w.Cancel()

	nowhere := r.opts
	nowhere.APIBase = "http://127.0.0.1:1/"
	w = check.Must(New(nowhere))(t).Reply(conversation("C1"), []string{tsOf(time.Now())}).(*writer)
	grow(t, "where nobody listens, so that nothing was posted", delays(t, w, "One ", 3))
}
