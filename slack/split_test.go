// Cutting.

package slack

import (
	"strings"
	"testing"

	"cairn/slack/slacktest"
	"cairn/words/wordstest"
)

func TestSplit(t *testing.T) {
	word := strings.Repeat("word ", 3000) // 15 000 characters
	for claim, c := range map[string]struct {
		text string
		want func(pieces []string) bool
	}{
		"a short text is one piece":          {"hello", func(p []string) bool { return equal(p, []string{"hello"}) }},
		"an empty text is one piece too":     {"", func(p []string) bool { return equal(p, []string{""}) }},
		"a long text is cut after a word":    {word, func(p []string) bool { return len(p) == 2 && strings.Join(p, "") == word }},
		"better after a line":                {word[:10_000] + "\n" + word[:5000], func(p []string) bool { return len(p) == 2 && p[1] == word[:5000] }},
		"best after a paragraph":             {word[:8000] + "\n\n" + word[:3000] + "\n" + word[:5000], func(p []string) bool { return len(p) == 2 && p[1] == word[:3000]+"\n"+word[:5000] }},
		"characters are counted, not bytes":  {strings.Repeat("語", 12_000), func(p []string) bool { return len(p) == 1 }},
		"those of two units count twice":     {strings.Repeat("🗿", 6001), func(p []string) bool { return len(p) == 2 && strings.Join(p, "") == strings.Repeat("🗿", 6001) }},
		"indentation stays":                  {word[:11_900] + "\n    indented " + word[:100], func(p []string) bool { return len(p) == 2 && strings.HasPrefix(p[1], "    indented") }},
		"nothing but space is never a piece": {"a" + strings.Repeat("\n", 30_000), func(p []string) bool { return len(p) == 1 && strings.HasPrefix(p[0], "a\n") }},
	} {
		t.Run(claim, func(t *testing.T) {
			if pieces := split(c.text, maxMarkdown, markdownCost); !c.want(pieces) {
				t.Errorf("%d pieces: %.200q", len(pieces), pieces)
			}
		})
	}
}

func TestSplitClosesAndOpensCodeBlocks(t *testing.T) {
	code := strings.Repeat("x := 1\n", 3000)
	text := "Look:\n```go\n" + code + "```\nThat is all."
	pieces := split(text, maxMarkdown, markdownCost)
	if len(pieces) < 2 {
		t.Fatalf("%d pieces", len(pieces))
	}
	var joined strings.Builder
	for i, p := range pieces {
		if strings.Count(p, "```")%2 != 0 {
			t.Errorf("piece %d leaves a code block open: %.40q … %.40q", i, p, p[len(p)-40:])
		}
		if i > 0 {
			p = strings.TrimPrefix(p, "```go\n")
		}
		if i < len(pieces)-1 {
			p = strings.TrimSuffix(p, "```")
		}
		joined.WriteString(p)
	}
	if joined.String() != text {
		t.Error("the pieces are not the text")
	}
}

// What is sent takes no more characters than Split counted.
func FuzzCost(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "hello", strings.Repeat("<!here> ", 40), strings.Repeat("🗿", 60)+"\xff\xfe") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if sent := len([]rune(defuseMentions(text))); costOf(text, markdownCost) < sent {
			t.Errorf("%d characters are sent for %d that were counted", sent, costOf(text, markdownCost))
		}
	})
}

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
