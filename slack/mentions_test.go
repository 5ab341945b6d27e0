package slack

import (
	"context"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// TestTheBotCallsNobody: whatever a model says, however it comes to be shown, and what
// people had kept in mind, calls nobody and forges no markup.
func TestTheBotCallsNobody(t *testing.T) {
	t.Parallel()
	const calls = "<!channel> <!here|x> <!everyone> <!subteam^S1> <@U123456> @channel @here @everyone &lt;!channel&gt; <!CHANNEL>"
	r := newRig(t, quick(), func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say(calls + " " + strings.Repeat("and more words ", 40) + calls), nil
	})
	general, ann := r.place()
	r.w.Admin(ann)
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "call them all"})
	r.eventually("an answer", func() bool { return len(r.said(general)) == 1 })
	r.settled(conversation(general))
	for i, line := range []string{"remember " + calls, "memories", "recall channel everyone", "forget " + calls, "settings compaction.focus " + calls, calls, "pause " + calls} {
		r.w.Command(general, ann, "/cairn", line)
		if strings.HasPrefix(line, "pause") {
			r.eventually("an answer for all", func() bool { return len(r.said(general)) == 2 })
			continue
		}
		r.told(general, ann, i+1)
	}
	for _, m := range r.w.Messages(general) {
		if m.User == ann {
			continue
		}
		shown := m.Shown()
		for _, call := range []string{"<!channel", "<!here", "<!everyone", "<!subteam", "<!CHANNEL", "<@U", "@channel", "@here", "@everyone", "&lt;!channel"} {
			if strings.Contains(shown, call) {
				t.Errorf("%s stands in %q", call, shown)
			}
		}
	}
}
