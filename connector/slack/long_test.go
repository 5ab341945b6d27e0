// Answers that are longer than what Slack accepts in one stream.

package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// long is a text of five pieces.
var long = strings.Join(numbered("All work and no play ", 700), ". ")

// grown shows a long text in a thread, as far as that goes without its end.
func (r *rig) grown(inThread bool, pieces int) (q target, w channel.Writer) {
	r.T.Helper()
	q = r.question(inThread)
	w = r.reply(q)
	w.Show(long[:3500])
	r.eventually("its beginning is shown", func() bool { return len(r.botMessages(q.channel)) == 1 })
	w.Show(long[:4200*(pieces-1)])
	r.eventually("it grows", func() bool { return len(r.botMessages(q.channel)) == pieces })
	return q, w
}

// finish sends all pieces of a text.
func (r *rig) finish(w channel.Writer, text string) {
	r.T.Helper()
	pieces := r.connector.Split(text)
	for i, p := range pieces {
		r.insist(w, channel.Piece{Reply: "r1", Part: i, Parts: len(pieces), Text: p})
	}
}

// stands checks what people see at last.
func (r *rig) stands(q target, text string) {
	r.T.Helper()
	got := strings.Join(r.botTexts(q.channel), "")
	check.Equal(r.T, "characters", len(got), len(text))
	check.That(r.T, got == text, "the text is %q", got)
	for i, m := range r.botMessages(q.channel) {
		check.Contains(r.T, "its mark", string(m.Metadata), `"reply":"r1"`, fmt.Sprintf(`"part":%d`, i))
	}
	check.Equal(r.T, "messages", len(r.botMessages(q.channel)), len(r.connector.Split(text)))
}

func TestALongAnswerIsStreamedInSeveralMessages(t *testing.T) {
	r := idle(t)
	q, w := r.grown(true, 4)
	for i, m := range r.botMessages(q.channel) {
		check.That(t, m.Streaming == (i == 3) && len(m.Text) <= 4000, "message %d has %d characters and is open: %v", i, len(m.Text), m.Streaming)
	}
	r.finish(w, long)
	r.stands(q, long)

	q, w = r.grown(true, 3) // and its end differs
	other := strings.ReplaceAll(long, "play", "tea")
	r.finish(w, other)
	r.stands(q, other)

	q, w = r.grown(true, 3) // or it gets shorter
	r.finish(w, long[:3000])
	r.stands(q, long[:3000])

	q, w = r.grown(true, 3) // or nobody wants it
	w.Cancel()
	check.Len(t, "messages", r.botMessages(q.channel), 0)
}

func TestFailuresBetweenTheStreamsOfAnAnswer(t *testing.T) {
	r := idle(t)
	old := time.Now().Add(-time.Hour) // an old bot looks only for what it may have sent itself
	r.connector.self.since = old
	r.connector.first.Store(&old)
	for claim, fault := range failures {
		for _, fault.Of = range []string{"chat.stopStream", "chat.startStream"} {
			t.Run(fault.Of+" "+claim, func(t *testing.T) {
				q := r.question(true)
				w := r.reply(q)
				w.Show(long[:3500])
				r.eventually("its beginning is shown", func() bool { return len(r.botMessages(q.channel)) == 1 })
				before := r.w.Seen(fault.Of)
				r.w.Fail(fault)
				w.Show(long[:8400])
				r.eventually("it goes on", func() bool { return r.w.Seen(fault.Of) > before })
				r.finish(w, long)
				r.stands(q, long)
			})
		}
	}
}

func TestALongAnswerThatACrashCutShortIsFinished(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, nil)
	r.begin()
	for _, text := range []string{long, long[:3000]} {
		q, _ := r.grown(true, 3)
		for _, method := range []string{"chat.delete", "chat.stopStream", "chat.update"} { // nobody takes back what is shown
			r.w.Fail(slacktest.Fault{Of: method, Status: 502, Body: "<html>", Times: -1})
		}
		r.end()
		r.w.Clear()
		r.begin()
		w := r.reply(q)
		w.Show(long[:2000])
		r.finish(w, text)
		r.stands(q, text)
	}
}

// A person stops an answer whose first message is full.
func TestAStopInALaterMessageOfAnAnswer(t *testing.T) {
	const minute = time.Second // a short one, as in idle
	r, general, ann := town(t, slacktest.Options{Agent: true, KeepsStopped: true, Minute: minute}, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say(strings.Repeat("word ", 20_000)), nil
	})
	r.tune = func(s *Slack) { s.api.gates.window = minute + 100*time.Millisecond }
	r.Model.Delay = time.Millisecond
	r.opts.ReplyIn = replyAuto
	r.begin()
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "tell me a story"})
	open := func() int {
		return slices.IndexFunc(r.botMessages(general), func(m slacktest.Message) bool { return m.Streaming })
	}
	r.eventually("the third message grows", func() bool { return open() == 2 })
	r.w.StopSession(general, asked, ann)
	shown := r.botMessages(general)
	r.status(general, asked, slackgo.AgentSessionStatusActive)
	r.Idle(conversation(general))
	for i, m := range r.botMessages(general) {
		check.Require(t, i < len(shown), "more messages than were shown")
		check.Equal(t, "message", m.Text, shown[i].Text)
	}
	check.Len(t, "calls of chat.postMessage", r.w.Calls("chat.postMessage"), 0)
	_, sent, err := r.Hub.SentAs(t.Context(), conversation(general), shown[2].TS)
	check.That(t, sent && err == nil, "the last is not noted as the answer: %v", err)
}
