// Pieces that turn out to be too long.

package slack

import (
	"strings"
	"testing"

	"cairn/slack/slacktest"
)

func TestAPieceThatIsTooLongAfterAllIsCut(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		for claim, shown := range map[string]bool{"before it was shown": false, "when it was shown": true} {
			t.Run(claim, func(t *testing.T) {
				r := idle(t)
				q := r.question(inThread)
				r.begin()
				r.eventually("the question is known", func() bool { _, ok := r.connector.authors.Find(q.channel + "/" + q.to[0]); return ok })
				w := r.connector.Reply(q.name, q.to)
				if shown {
					w.Show("Many ")
					r.shows(q.channel, "Many")
					for _, method := range []string{"chat.update", "chat.stopStream"} {
						r.w.Fail(slacktest.Fault{Method: method, Error: "msg_too_long", Times: 1})
					}
				}
				r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Error: "msg_blocks_too_long", Times: 1})
				text := strings.Repeat("Many words. ", 900)
				r.send(w, piece(text))
				if got := r.said(q.channel); strings.Join(got, "") != text || len(got) < 3 {
					t.Errorf("%d characters of %d arrived, in %d messages", len(strings.Join(got, "")), len(text), len(got))
				}
			})
		}
	})
}

func TestAPieceThatWasCutIsGoneOnWith(t *testing.T) {
	t.Parallel()
	r := idle(t)
	q := r.question(false)
	r.begin()
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Error: "msg_too_long"})
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Status: 502, Skip: 1})
	p := piece(strings.Repeat("Many words. ", 900))
	if _, err := r.connector.Reply(q.name, q.to).Send(t.Context(), p); err == nil {
		t.Fatal("the fault did not strike")
	}
	r.end()
	r.begin()
	p.Sending = true
	r.send(r.connector.Reply(q.name, q.to), p)
	if got := r.said(q.channel); strings.Join(got, "") != p.Text || len(got) != 3 {
		t.Errorf("%d characters of %d arrived, in %d messages", len(strings.Join(got, "")), len(p.Text), len(got))
	}
}
