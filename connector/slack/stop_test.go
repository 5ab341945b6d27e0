package slack

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

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

// The disk refuses what was stopped: it stays as people saw it, and is stored once the disk accepts it.
func TestAStoppedAnswerThatCannotBeStoredIsKept(t *testing.T) {
	r, general, ann := storyteller(t, slacktest.Options{})
	r.begin()
	thread := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
	stream := r.telling(general, ann, thread)
	r.Exec("ALTER TABLE outbox RENAME TO elsewhere")
	r.w.StopSession(general, thread, ann)
	r.inThread(general, thread, "I cannot save what I wrote before I was stopped")
	r.status(general, thread, slackgo.AgentSessionStatusActive)
	r.Exec("ALTER TABLE elsewhere RENAME TO outbox")
	r.Idle(conversation(general, thread))
	_, sent, err := r.Hub.SentAs(t.Context(), conversation(general, thread), stream)
	check.That(t, sent && err == nil, "the stream is not noted as the answer: %v", err)
	answers := slices.DeleteFunc(r.botMessages(general), func(m slacktest.Message) bool { return !strings.HasPrefix(m.Text, "word ") })
	check.That(t, len(answers) == 1 && answers[0].TS == stream && !answers[0].Streaming, "the answers: %+v", answers)
	check.Len(t, "requests", r.Model.Requests(), 1)
	check.Len(t, "rows", r.Transcript(conversation(general, thread)), 2)
}

// The event may come where no writer ends the session, after a begin of this process.
func TestTheEndOfASessionByAClickIsTriedAgain(t *testing.T) {
	r, _, ann := storyteller(t, slacktest.Options{})
	r.begin()
	dm := r.w.DM(ann)
	asked := r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: "a thread", Untold: true})
	thread := r.connector.self.place(dm, asked)
	check.That(t, r.connector.sessions.begin(t.Context(), conversation(dm), thread, asked, ann), "no session")
	r.w.Fail(slacktest.Fault{Of: setSession, Status: 502, Body: "<html>", Times: 5})
	r.w.StopSession(dm, asked, ann)
	r.status(dm, asked, slackgo.AgentSessionStatusActive)
}
