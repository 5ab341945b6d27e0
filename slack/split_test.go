// Cutting.

package slack

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
	"cairn/words/wordstest"
)

func TestSplitCountsAsSlackDoes(t *testing.T) {
	for claim, c := range map[string]struct {
		text   string
		pieces int
	}{
		"an empty text is one piece":        {"", 1},
		"characters are counted, not bytes": {strings.Repeat("語", 4000), 1},
		"those of two units count twice":    {strings.Repeat("🗿", 2001), 2},
		"what is made harmless counts more": {strings.Repeat("@", 2001), 2},
		"so does what is escaped":           {strings.Repeat("<", 1001), 2},
	} {
		if got := messages.Texts(c.text, ""); len(got) != c.pieces || strings.Join(got, "") != c.text {
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
		if sent := len([]rune(escape(text))); messages.CostOf(text) < sent {
			t.Errorf("%d characters are sent for %d that were counted", sent, messages.CostOf(text))
		}
	})
}

// Slack counts the blocks that it makes of Markdown, too.
func TestWhatIsTooLongAsMarkdownIsSentAsPlainText(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		q := r.question(inThread)
		w := r.reply(q)
		if inThread { // it is shown before
			w.Show("Many ")
			r.shows(q.channel, "Many")
		}
		for _, method := range []string{"chat.postMessage", "chat.update", "chat.stopStream"} {
			r.w.Fail(slacktest.Fault{Method: method, Error: "msg_blocks_too_long"})
		}
		text := strings.Repeat("Many words. ", 300)
		r.send(w, piece(text))
		r.answered(q.channel, text)
		r.w.Heal()
		r.send(r.reply(q), channel.Piece{Reply: "r2", Parts: 1, Text: "*More*"})
		calls := r.w.Calls("chat.postMessage")
		check.Equal(t, "the next as Markdown", calls[len(calls)-1].Args["markdown_text"], "*More*")
	})
}
