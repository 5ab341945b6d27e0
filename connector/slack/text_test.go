// Slack's markup, and the limits of messages.

package slack

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
	"cairn/testkit/wordstest"
)

// knowing is a connector that knows ann, bob and general, and itself as cairn.
func knowing(t testing.TB) *Slack {
	t.Helper()
	s := check.Must(New(Options{BotToken: "xoxb-1", AppToken: "xapp-1", Log: slog.New(slog.DiscardHandler)}))(t)
	*s.self = self{team: "T1", user: "UBOT", bot: "BBOT", name: "cairn"}
	s.names.set("U1", "Ann")
	s.names.set("C1", "general")
	return s
}

func TestMarkupBecomesPlainWords(t *testing.T) {
	s := knowing(t)
	for raw, want := range map[string]string{
		"<@U1> and <@U1|old>":                            "@Ann and @Ann",
		"<@U2|bob>":                                      "@bob",
		"<@U2>, ask <#C2>":                               "<@U2>, ask <#C2>", // left to Complete
		"<#C1> <#C1|> <#C9|random>":                      "#general #general #random",
		"hey <@UBOT>, you":                               "hey @cairn, you",
		"<!here> <!channel|channel> <!everyone>":         "@here @channel @everyone",
		"<!subteam^S1|@ops> <!subteam^S2>":               "@ops @S2",
		"<!date^1392734382^{date}|18 February 2014>":     "18 February 2014",
		"<https://x.dev/a?b=1&amp;c=2>":                  "https://x.dev/a?b=1&c=2",
		"<https://x.dev|docs> <http://x.dev|x.dev>":      "docs (https://x.dev) http://x.dev",
		"<mailto:a@b.dev|a@b.dev> <tel:123|123>":         "a@b.dev tel:123",
		"1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt; is no <": "1 < 2 && 3 > 2, &lt; is no <",
		"*bold* _stays_ ~as~ `it` is":                    "*bold* _stays_ ~as~ `it` is",
	} {
		got := s.names.plainText(raw)
		check.Equal(t, raw, got, want)
	}
	for raw, want := range map[string]string{
		"<@UBOT> hi": "hi", "<@UBOT>: /help": "/help", " <@UBOT|cairn>, <@U1>?": "<@U1>?",
		"hi <@UBOT>": "hi <@UBOT>", "<@UBOT> ": "<@UBOT>", "<@UBOTX> hi": "<@UBOTX> hi", "<@UBOT": "<@UBOT",
	} {
		check.Equal(t, raw, s.self.withoutMention(raw), want)
	}
}

func callsSomebody(text string) bool {
	plain := func(found string) bool { return found[0] == '@' } // else an e-mail address
	return groupMention.MatchString(text) || userMention.MatchString(text) || slices.ContainsFunc(plainMention.FindAllString(text, -1), plain)
}

func TestNobodyCanBeMadeToCallEverybody(t *testing.T) {
	for _, call := range []string{
		"<!channel>", "<!here|here>", "<!EVERYONE>", "&lt;!here&gt;", "@channel", "@Here", "x@everyone", "<!subteam^S1|@ops>", "<<!here>>", "@@channel", "a@b.dev@here", "@here.dev", "<@U1>", "<@W12AB|ann>", "&lt;@U1&gt;",
	} {
		got := defuseMentions("so " + call + " there")
		check.That(t, !callsSomebody(got), "%q is %q", call, got)
		check.Equal(t, "changed once more", defuseMentions(got), got)
		check.Equal(t, "it reads", strings.ReplaceAll(got, wordJoiner, ""), "so "+call+" there")
	}
	check.Equal(t, "the result", defuseMentions("mail a@b.dev or news@channel4.com, !important, @ann stays"), "mail a@b.dev or news@channel4.com, !important, @ann stays")
	check.Equal(t, "the result", escape("a < b & c > <!here>"), "a &lt; b &amp; c &gt; &lt;!"+wordJoiner+"here&gt;")
}

func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{"<@U1> <#C1|x> <!here> <http://x|y>", "<<>>|<|>", "&lt;&amp;lt;", "<@UBOT>", "<!subteam^>", "<|>", "\xff<\xfe>", strings.Repeat("<!here> ", 40), strings.Repeat("🗿", 60) + "\xff\xfe"} {
		f.Add(seed)
	}
	for _, text := range wordstest.Texts() {
		f.Add(text)
	}
	s := knowing(f)
	f.Fuzz(func(t *testing.T, raw string) {
		text := s.names.plainText(raw)
		check.That(t, !utf8.ValidString(raw) || utf8.ValidString(text), "%q becomes %q", raw, text)
		named := strings.ContainsAny(raw, "<&") && strings.ContainsAny(raw, "@#")
		check.That(t, named || !unresolvedName.MatchString(text), "%q has no name, and yet one is missing: %q", raw, text)
		check.That(t, strings.ContainsAny(raw, "<&") || text == raw, "%q becomes %q", raw, text)
		check.That(t, s.self.withoutMention(raw) == raw || s.self.mentionsBot(raw), "a mention is taken from %q, which has none", raw)
		out := defuseMentions(raw)
		check.That(t, !callsSomebody(out) && defuseMentions(out) == out, "%q calls: %q", raw, out)
		sent := len([]rune(escape(raw)))
		check.That(t, messages.CostOf(raw) >= sent, "%d characters are sent for %d that were counted", sent, messages.CostOf(raw))
	})
}

// Neither what a model says nor what people had kept in mind calls somebody or forges markup.
func TestTheBotCallsNobody(t *testing.T) {
	const calls = "<!channel> <!here|x> <!everyone> <!subteam^S1> <@U123456> @channel @here @everyone &lt;!channel&gt; <!CHANNEL>"
	r, general, ann := town(t, slacktest.Options{}, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say(calls + " " + strings.Repeat("and more words ", 40) + calls), nil
	})
	r.w.Admin(ann)
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "call them all"})
	r.eventually("an answer", func() bool { return len(r.botTexts(general)) == 1 })
	r.Idle(conversation(general))
	for _, line := range []string{"remember " + calls, "memories", "recall channel everyone", "forget " + calls, "settings compaction.focus " + calls, calls} {
		r.command(general, ann, line)
	}
	r.w.Command(general, ann, "/cairn", "pause "+calls)
	r.eventually("an answer for all", func() bool { return len(r.botTexts(general)) == 2 })
	shown := append(r.botMessages(general), r.botMessages(general, ann)...)
	check.That(t, len(shown) >= 2, "got %d messages of the bot", len(shown))
	for _, m := range shown {
		check.Lacks(t, "there stands", m.Shown(),
			"<!channel", "<!here", "<!everyone", "<!subteam", "<!CHANNEL", "<@U", "@channel", "@here", "@everyone", "&lt;!channel")
	}
}

func TestAServerWithoutMarkdown(t *testing.T) {
	const text = "An answer & more."
	for claim, streamed := range map[string]bool{"shows nothing of a reply": false, "shows nothing of what was shown before": true, "refuses it": false} {
		t.Run(claim, func(t *testing.T) {
			r, _, _ := connectedRig(t, slacktest.Options{IgnoresMarkdown: claim != "refuses it"}, nil)
			q := r.question(false)
			if claim == "refuses it" {
				r.w.Fail(slacktest.Fault{Of: "chat.postMessage", Error: "no_text"})
			}
			w := r.reply(q)
			if streamed {
				w.Show(text[:10])
				r.shows(q.channel, trimPendingMention(text[:10]))
			}
			r.send(w, piece(text))
			r.send(r.reply(q), channel.Piece{Reply: "r2", Parts: 1, Text: "The next one."})
			r.answered(q.channel, escape(text), "The next one.")
			asMarkdown := func(c slacktest.Call) bool { return c.Args["markdown_text"] != "" }
			check.Equal(t, "the first try was Markdown", slices.IndexFunc(r.w.Calls("chat.postMessage"), asMarkdown), 0)
			check.That(t, !slices.ContainsFunc(r.w.Calls("chat.postMessage")[1:], asMarkdown), "it tried Markdown again")
			check.Equal(t, "how often the log tells of it", strings.Count(r.Log.String(), "markdown_refused"), 1)
		})
	}
}

func TestSplitCountsAsSlackDoes(t *testing.T) {
	for character, most := range map[string]int{"語": 4000, "🗿": 2000, "@": 2000, "<": 1000} { // units as they are sent
		check.Len(t, "pieces of what just fits of "+character, messages.Texts(strings.Repeat(character, most), ""), 1)
		more := strings.Repeat(character, most+1)
		got := messages.Texts(more, "")
		check.That(t, len(got) == 2 && strings.Join(got, "") == more, "%d pieces of %s", len(got), character)
	}
	check.EqualAll(t, "pieces of nothing", messages.Texts("", ""), []string{""})
}

// Slack counts and checks the blocks that it makes of Markdown, too.
func TestWhatSlackRefusesAsMarkdownIsSentAsPlainText(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		r.connector.poster.compatible = false // as if it was Slack itself
		for _, code := range []string{"msg_blocks_too_long", "invalid_blocks"} {
			q := r.question(inThread)
			w := r.reply(q)
			if inThread { // it is shown before
				w.Show("Many ")
				r.shows(q.channel, "Many")
			}
			for _, method := range []string{"chat.postMessage", "chat.update", "chat.stopStream"} {
				r.w.Fail(slacktest.Fault{Of: method, Error: code})
			}
			text := strings.Repeat("Many words. ", 300)
			r.send(w, piece(text))
			r.answered(q.channel, text)
			r.w.Clear()
			r.send(r.reply(q), channel.Piece{Reply: "r2", Parts: 1, Text: "*More*"})
			calls := r.w.Calls("chat.postMessage")
			check.Equal(t, "the next as Markdown", calls[len(calls)-1].Args["markdown_text"], "*More*")
		}
	})
}

// However often sockets die while a backfill runs, one follows, for all that was missed.
func TestBackfillsThatWaitAreOne(t *testing.T) {
	s := knowing(t)
	done := make(chan missed)
	hold := make(chan struct{})
	start := func(gaps []channel.Gap, since time.Time) {
		s.sockets.backfill.queue.Add("known", missed{gaps, since}, func(waiting []missed) { done <- merge(waiting); <-hold })
	}
	one := channel.Gap{Conversation: "slack:T1/C1", After: "1"}
	two := channel.Gap{Conversation: "slack:T1/C2", After: "2"}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	start(nil, noon)
	m := <-done
	check.That(t, len(m.gaps) == 0 && m.since.Equal(noon), "got %v since %v", m.gaps, m.since)
	start([]channel.Gap{one}, noon)
	start([]channel.Gap{two, one}, noon.Add(-time.Hour))
	start(nil, noon.Add(time.Hour))
	close(hold)
	m = <-done
	check.That(t, slices.Equal(m.gaps, []channel.Gap{two, one}) && m.since.Equal(noon.Add(-time.Hour)), "then got %v since %v", m.gaps, m.since)
}

// Slack knows tables, headings and tasks, but neither HTML nor footnotes.
func TestWhatSlackDoesNotKnowOfMarkdownIsConverted(t *testing.T) {
	known := "__Prices__\n\n| Item | EUR |\n|---|--:|\n| Pen | 3 |\n\n#### Open\n- [ ] order"
	s := knowing(t)
	check.EqualAll(t, "what it knows", s.Split(known), []string{known})
	check.EqualAll(t, "what it does not know", s.Split("<b>a</b><br>b[^1]"), []string{"**a**\nb[1]"})
}
