// Cutting.

package slack

import (
	"strings"
	"testing"

	"cairn/slack/slacktest"
	"cairn/words/wordstest"
)

func TestSplitCountsAsSlackDoes(t *testing.T) {
	for claim, c := range map[string]struct {
		text   string
		pieces int
	}{
		"an empty text is one piece":        {"", 1},
		"characters are counted, not bytes": {strings.Repeat("語", 12_000), 1},
		"those of two units count twice":    {strings.Repeat("🗿", 6001), 2},
		"what is made harmless counts more": {strings.Repeat("@", 6001), 2},
	} {
		if got := markdown.Texts(c.text, ""); len(got) != c.pieces || strings.Join(got, "") != c.text {
			t.Errorf("%s: %d pieces", claim, len(got))
		}
	}
}

// What is sent takes no more characters than Split counted.
func FuzzCost(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "hello", strings.Repeat("<!here> ", 40), strings.Repeat("🗿", 60)+"\xff\xfe") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if sent := len([]rune(defuseMentions(text))); markdown.CostOf(text) < sent {
			t.Errorf("%d characters are sent for %d that were counted", sent, markdown.CostOf(text))
		}
	})
}

func TestAPieceThatIsTooLongAfterAllIsCut(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		for claim, shown := range map[string]bool{"before it was shown": false, "when it was shown": true} {
			t.Run(claim, func(t *testing.T) {
				r, q := asked(t, inThread)
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
	r, q := asked(t, false)
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Error: "msg_too_long"})
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Status: 502, Skip: 1})
	p := r.doubtful(r.connector.Reply(q.name, q.to), piece(strings.Repeat("Many words. ", 900)))
	r.end()
	r.begin()
	r.send(r.connector.Reply(q.name, q.to), p)
	if got := r.said(q.channel); strings.Join(got, "") != p.Text || len(got) != 3 {
		t.Errorf("%d characters of %d arrived, in %d messages", len(strings.Join(got, "")), len(p.Text), len(got))
	}
}
