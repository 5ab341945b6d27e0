// Titles of sessions, after the message that was one is gone.

package slack

import (
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

const renameSession = "agents.sessions.rename"

// titled is an agent who has answered two questions in a thread, or in one that the first opens.
type titled struct {
	*rig
	channel, ann, thread string
	asked                []string
}

func (a *agent) entitled(in string) titled {
	a.T.Helper()
	r := a.rig
	e := titled{rig: r}
	e.channel, e.ann = r.place()
	switch in {
	case "thread":
		e.thread = r.w.Say(slacktest.Post{Channel: e.channel, User: e.ann, Text: "root"})
	case "direct":
		e.channel = r.w.DM(e.ann)
	}
	for n, text := range []string{"my secret", "and then?"} {
		ts := r.w.Say(slacktest.Post{Channel: e.channel, User: e.ann, Thread: e.thread, Text: mention + text})
		e.asked = append(e.asked, ts)
		if e.thread == "" {
			e.thread = ts
		}
		r.status(e.channel, e.thread, "processing")
		a.letGo()
		r.eventually("the answer", func() bool { return len(r.botTexts(e.channel)) == n+1 })
		r.status(e.channel, e.thread, "active")
	}
	e.isTitled("my secret")
	return e
}

func (e titled) isTitled(want string) {
	e.T.Helper()
	e.eventually("the title is "+want, func() bool { session, _ := e.w.Session(e.channel, e.thread); return session.Title == want })
}

// agent is a bot that is declared as one, whose model waits until it is let go.
type agent struct {
	*rig
	letGo func()
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	return &agent{r, letGo}
}

func TestTitleOfADeletedQuestionIsReplaced(t *testing.T) {
	r := newAgent(t)
	for _, in := range []string{"thread", "direct", "channel"} {
		t.Run("on Slack, in a "+in, func(t *testing.T) {
			e := r.entitled(in)
			calls := r.w.Seen(renameSession)
			r.w.Delete(e.channel, e.asked[1])
			r.w.Delete(e.channel, e.asked[0])
			e.isTitled(textUntitled)
			check.Equal(t, "names", r.w.Seen(renameSession)-calls, 1)
		})
	}
	for claim, forget := range map[string]func(e titled){
		"by the menu of the message": func(e titled) { r.w.Menu(e.channel, e.asked[0], e.ann, "forget") },
		"by forgetting all":          func(e titled) { r.w.Command(e.channel, e.ann, "/cairn", "forget me everywhere yes") },
		"while Slack has problems": func(e titled) {
			r.w.Fail(slacktest.Fault{Of: renameSession, Status: 503, Body: "<html>", Times: 2})
			r.w.Delete(e.channel, e.asked[0])
		},
	} {
		t.Run(claim, func(t *testing.T) {
			e := r.entitled("thread")
			forget(e)
			e.isTitled(textUntitled)
		})
	}
}

func TestTitlesWhereSlackRefusesANewOne(t *testing.T) {
	r := newAgent(t)
	first := r.entitled("thread")
	r.w.Fail(slacktest.Fault{Of: renameSession, Error: "session_not_found"})
	r.w.Delete(first.channel, first.asked[0])
	second := r.entitled("thread")
	r.eventually("it was tried", func() bool { return r.w.Seen(renameSession) == 1 })
	r.w.Fail(slacktest.Fault{Of: renameSession, Error: "not_authorized", Times: -1})
	r.w.Delete(second.channel, second.asked[0])
	r.eventually("one session says nothing of others", func() bool { return r.w.Seen(renameSession) == 2 })
	r.eventually("it is noted", r.connector.sessions.unnamed.holds)
	third := r.entitled("thread")
	r.w.Delete(third.channel, third.asked[0])
	r.stored(conversation(third.channel, third.thread), "assistant: answer 5", "user: and then?", "assistant: answer 6")
	r.end()
	check.Equal(t, "attempts", r.w.Seen(renameSession), 2)
	third.isTitled("my secret")
}
