package slack

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

func TestSlacksStopButtonStopsTheAnswer(t *testing.T) {
	for claim, c := range map[string]struct {
		click  func(r *rig, channel, thread, stream, person string)
		thread bool // the question is in a thread; otherwise the answer starts one
	}{
		"which an event reports": {func(r *rig, channel, thread, _, person string) {
			r.w.StopSession(channel, thread, person)
		}, false},
		"which an event reports, in a thread": {func(r *rig, channel, thread, _, person string) {
			r.w.StopSession(channel, thread, person)
		}, true},
		"of which only the stream knows": {func(r *rig, channel, _, stream, _ string) {
			r.w.StopStream(channel, stream)
		}, false},
		"of which only the stream knows, in a thread": {func(r *rig, channel, _, stream, _ string) {
			r.w.StopStream(channel, stream)
		}, true},
	} {
		t.Run(claim, func(t *testing.T) {
			const text = "word "
			r, general, ann := town(t, slacktest.Options{Agent: true}, func(context.Context, int, llm.Request) (llm.Response, error) {
				return llmtest.Say(strings.Repeat(text, 2000) + "the end"), nil
			})
			r.opts.ReplyIn = replyAuto
			r.Model.Delay = 20 * time.Millisecond
			r.begin()
			question := slacktest.Post{Channel: general, User: ann, Text: mention + "tell me a story"}
			if c.thread {
				question.Thread = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
			}
			thread := r.w.Say(question)
			name := conversation(general)
			if c.thread {
				thread = question.Thread
				name = conversation(general, thread)
			}
			r.eventually("the answer is shown", func() bool { return len(r.w.Calls("chat.appendStream")) > 0 })
			c.click(r, general, thread, r.botMessages(general)[0].TS, ann)
			r.Idle(name)
			shown := r.botMessages(general)
			check.Len(t, "messages that all see", shown, 1)
			check.HasPrefix(t, "the answer", shown[0].Text, text)
			check.Lacks(t, "the answer", shown[0].Text, "the end")
			all := r.Transcript(name)
			check.Lacks(t, "what is stored", all[len(all)-1].Text, "the end")
			r.eventually("the person who clicked is told", func() bool { return len(r.botMessages(general, ann)) > 0 })
			check.HasPrefix(t, "the person is told", r.botMessages(general, ann)[0].Text, "Stopped.")
			check.Equal(t, "requests", len(r.Model.Requests()), 1)
		})
	}
}

// A click may come late, or again after a crash, while the bot answers in another thread of the same conversation.
func TestTheStopButtonOfAThreadStopsNoAnswerInAnother(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	d := &talk{rig: r, ann: r.w.AddUser("ann")}
	d.dm = r.w.DM(d.ann)
	d.name = conversation(d.dm)
	first := d.say("", "first")
	letGo()
	d.answeredIn(1, first)
	second := d.say("", "second")
	r.eventually("it thinks", func() bool { return len(r.Model.Requests()) == 2 })
	r.w.StopAgain(d.dm, first, d.ann)
	d.say(first, "/memories") // it comes after the click
	d.inThread(d.dm, first, "memor")
	check.Require(t, !strings.Contains(strings.Join(r.botTexts(d.dm), " "), "Stopped."), "the answer in another thread was stopped")
	letGo()
	d.inThread(d.dm, second, "answer 2")
	d.Idle(d.name)
	d.say(first, "third")
	r.eventually("it thinks again", func() bool { return len(r.Model.Requests()) == 3 })
	r.w.StopAgain(d.dm, first, d.ann)
	d.inThread(d.dm, first, "Stopped.")
	d.Idle(d.name)
	for _, m := range r.botMessages(d.dm) {
		check.That(t, m.Thread == first || !strings.HasPrefix(m.Shown(), "Stopped."), "the thread %s says that its answer was stopped", m.Thread)
	}
	check.Equal(t, "sessions that Slack shows as busy", r.w.Processing(), 0)
}
