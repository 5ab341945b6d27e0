// How people see that the bot is at work, and where its answers stand.

package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/llm"
	"cairn/slack/slacktest"
)

// thinking is a bot whose model waits until it is let go.
func thinking(t *testing.T, scopes []string, o Options) (r *rig, letGo func()) {
	t.Helper()
	wait := make(chan struct{})
	w := quick()
	w.Scopes = scopes
	r = newRig(t, w, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case <-wait:
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
		return answerN(ctx, n, req)
	})
	r.opts.Working, r.opts.ReplyIn = o.Working, o.ReplyIn
	r.begin()
	return r, func() { close(wait) }
}

// reactions are the bot's on a message.
func (r *rig) reactions(channelID, ts string) (names []string) {
	for _, m := range r.w.Messages(channelID) {
		for _, reaction := range m.Reactions {
			if m.TS == ts && reaction.User == slacktest.BotUserID {
				names = append(names, reaction.Name)
			}
		}
	}
	return names
}

func without(t *testing.T, scope string) []string {
	return slices.DeleteFunc(manifestScopes(), func(s string) bool { return s == scope })
}

func TestPeopleSeeAtOnceThatTheBotWorks(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		thread, direct, refused bool
		reactions               []string
	}{
		"in a channel by a reaction, until the answer is there": {reactions: []string{workingEmoji}},
		"in a thread by a status":                               {thread: true},
		"in a direct message too":                               {direct: true},
		"in a thread by a reaction where no status is taken":    {thread: true, refused: true, reactions: []string{workingEmoji}},
	} {
		t.Run(claim, func(t *testing.T) {
			r, letGo := thinking(t, nil, Options{})
			general, ann := r.place()
			if c.refused {
				r.w.Fail(slacktest.Fault{Method: "assistant.threads.setStatus", Error: "missing_scope", Times: -1})
			}
			root := ""
			if c.thread {
				root = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
			}
			if c.direct {
				general = r.w.DM(ann)
			}
			ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "hello"})
			status := func() bool { return r.w.Status(general, cmp.Or(root, ts)) != "" }
			r.eventually("the sign", func() bool {
				return slices.Equal(r.reactions(general, ts), c.reactions) && status() == (c.reactions == nil)
			})
			letGo()
			r.answered(general, "answer 1")
			r.eventually("it is gone", func() bool { return len(r.reactions(general, ts)) == 0 && !status() })
		})
	}
	t.Run("by a message that becomes the answer", func(t *testing.T) {
		r, letGo := thinking(t, nil, Options{Working: workingPlaceholder})
		general, ann := r.place()
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
		r.shows(general, placeholder)
		first := r.own(general)[0].TS
		letGo()
		r.answered(general, "answer 1")
		check.Equal(t, "there stands", r.own(general)[0].TS, first)
	})
}

func TestASignOfWorkCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	r, letGo := thinking(t, nil, Options{Working: workingOff})
	general, ann := r.place()
	letGo()
	r.ask(general, ann, 1)
	r.end()
	check.Equal(t, "calls", len(r.w.Calls("assistant.threads.setStatus"))+len(r.w.Calls("reactions.add")), 0)
}

func TestASignThatComesLateIsNotLeft(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		method string
		thread bool
	}{
		"a status":   {"assistant.threads.setStatus", true},
		"a reaction": {"reactions.add", false},
	} {
		t.Run(claim, func(t *testing.T) {
			r, letGo := thinking(t, nil, Options{})
			letGo()
			q := r.question(c.thread)
			r.w.Fail(slacktest.Fault{Method: c.method, Delay: 300 * time.Millisecond, Late: true})
			w := r.connector.Reply(q.name, q.to)
			w.(*writer).Working()
			r.eventually("the sign is on its way", func() bool { return r.w.Seen(c.method) == 1 })
			r.send(w, piece("An answer."))
			r.eventually("the sign is there", func() bool { return len(r.w.Calls(c.method)) == 1 })
			r.end() // what was begun is done
			if status, reactions := r.w.Status(q.channel, q.thread), r.reactions(q.channel, q.to[0]); status != "" || len(reactions) > 0 {
				t.Errorf("left are status %q and reactions %q", status, reactions)
			}
		})
	}
	t.Run("and a notice has none", func(t *testing.T) {
		r, letGo := thinking(t, nil, Options{})
		letGo()
		q := r.question(true)
		r.send(r.connector.Reply(q.name, q.to), piece("A notice."))
		r.end()
		check.Equal(t, "signs", len(r.w.Calls("assistant.threads.setStatus"))+len(r.w.Calls("reactions.add")), 0)
	})
}

func TestWhereAnAnswerStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replyIn, channel string
		threads          bool
	}{
		{replyAuto, "C1", true},
		{replyAuto, "D1", false},
		{replyThread, "C1", true},
		{replyThread, "D1", true},
		{replyChannel, "C1", false},
		{replyChannel, "D1", false},
	} {
		s := &Slack{o: Options{ReplyIn: c.replyIn}, tasks: platform.NewGroup()}
		w := s.Reply(conversation(c.channel), []string{"1.000000"}).(*writer)
		check.Equal(t, fmt.Sprintf("an answer is in a thread, %+v", c), w.place.Thread != "", c.threads)
	}
	r, letGo := thinking(t, nil, Options{})
	letGo()
	t.Run("in the channel if the question was deleted", func(t *testing.T) {
		q := r.question(false)
		r.w.Delete(q.channel, q.to[0])
		r.send(r.connector.Reply(q.name, q.to), piece("An answer."))
		r.answered(q.channel, "An answer.")
	})
	t.Run("what may have been sent is found in the thread", func(t *testing.T) {
		q := r.question(false)
		r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Status: 502, Body: "<html>", TakesEffect: true})
		w := r.connector.Reply(q.name, q.to)
		r.send(w, r.doubtful(w, piece("An answer.")))
		r.answered(q.channel, "An answer.")
	})
}

// A thread that hangs on a question has a conversation of its own, which knows the
// question and the answer, and goes on without the bot's name.
func TestATalkGoesOnInTheThreadOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(r *rig, say func()){
		"after a restart":     func(r *rig, say func()) { r.end(); r.begin(); say() },
		"while it restarts":   func(r *rig, say func()) { r.end(); say(); r.begin() },
		"between two sockets": func(r *rig, say func()) { r.betweenSockets(say) },
	} {
		t.Run(name, func(t *testing.T) {
			r, letGo := thinking(t, nil, Options{})
			letGo()
			general, ann := r.place()
			root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "who painted it?"})
			r.answered(general, "answer 1")
			r.settled(conversation(general))
			goOn(r, func() { r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "and when?"}) })
			r.awaitAnswers(general, 2)
			r.stored(conversation(general), "user: who painted it?", "assistant: answer 1")
			r.stored(conversation(general, root), "user: and when?", "assistant: answer 2")
			var told strings.Builder
			requests := r.model.Requests()
			for _, m := range requests[len(requests)-1].Messages {
				told.WriteString(m.Text + "\n")
			}
			check.Contains(t, "what the model was told", told.String(), "who painted it?", "You answered: answer 1", "and when?")
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/stop"})
			r.eventually("it is told", func() bool { return len(r.own(general)) == 3 })
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "among us"})
			r.stored(conversation(general, root), "user: and when?", "assistant: answer 2", "user: among us")
		})
	}
	t.Run("not where nobody asked the bot", func(t *testing.T) {
		r, letGo := thinking(t, nil, Options{})
		letGo()
		general, ann := r.place()
		root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "lunch?"})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "at noon"})
		r.stored(conversation(general, root), "user: at noon")
	})
}

func TestAnAnswerIsStoppedWhereItIsShown(t *testing.T) {
	t.Parallel()
	r, _ := thinking(t, nil, Options{})
	general, ann := r.place()
	question := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "think hard"})
	other := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "lunch?"})
	r.eventually("it thinks", func() bool { return len(r.model.Requests()) == 1 })
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: other, Text: mention + "/stop"})
	r.answered(general, "There is nothing to stop.")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: question, Text: mention + "/stop"})
	r.answered(general, "There is nothing to stop.", "Stopped.")
	r.settled(conversation(general))
}
