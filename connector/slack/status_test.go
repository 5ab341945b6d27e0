// How people see that the bot is at work, where its answers stand, and that there was a compaction.

package slack

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// thinking is a bot that answers in threads, and whose model waits until it is let go, once for each answer.
func thinking(t *testing.T) (r *rig, letGo func()) { return thinkingAs(t, slacktest.Options{}) }

func thinkingAs(t *testing.T, o slacktest.Options) (r *rig, letGo func()) {
	t.Helper()
	wait := make(chan struct{})
	r, _, _ = town(t, o, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case <-wait:
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
		return answerN(ctx, n, req)
	})
	r.opts.ReplyIn = replyAuto
	return r, func() { wait <- struct{}{} }
}

func TestPeopleSeeAtOnceThatTheBotWorks(t *testing.T) {
	r, letGo := thinking(t)
	r.begin()
	signs := func() int { return len(r.w.Calls("assistant.threads.setStatus")) + len(r.w.Calls("reactions.add")) }
	for i, c := range []struct {
		claim, working, sign    string // sign: workingStatus, or the reaction; empty: none is set
		thread, direct, refused bool
	}{
		{claim: "in a channel by a reaction, until the answer is there", sign: workingEmoji},
		{claim: "in a thread by a status", thread: true, sign: workingStatus},
		{claim: "in a direct message too", direct: true, sign: workingStatus},
		{claim: "in a thread by a reaction where no status is taken", thread: true, refused: true, sign: workingEmoji},
		{claim: "by a message that becomes the answer", working: workingPlaceholder},
		{claim: "or not at all", working: workingOff},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if c.working != "" {
				r.end()
				r.opts.Working = c.working
				r.begin()
			}
			general, ann := r.place()
			root := ""
			before := signs()
			if c.refused {
				r.w.Fail(slacktest.Fault{Of: "assistant.threads.setStatus", Error: "missing_scope", Times: -1})
			}
			if c.thread {
				root = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
			}
			if c.direct {
				general = r.w.DM(ann)
			}
			ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "hello"})
			sign := func() string {
				if r.w.Status(general, cmp.Or(root, ts)) != "" {
					return workingStatus
				}
				return strings.Join(r.reactions(general, ts), ", ")
			}
			r.eventually("the sign", func() bool { return sign() == c.sign })
			shown := ""
			if c.working == workingPlaceholder {
				r.shows(general, placeholder)
				shown = r.botMessages(general)[0].TS
			}
			letGo()
			r.answered(general, fmt.Sprint("answer ", i+1))
			r.eventually("it is gone", func() bool { return sign() == "" })
			check.That(t, shown == "" || r.botMessages(general)[0].TS == shown, "the answer is another message")
			check.That(t, c.sign != "" || signs() == before, "%d signs", signs()-before)
		})
	}
}

func TestASignIsRenewedAndIfItComesLateNotLeft(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, nil)
	r.tune = func(s *Slack) { s.times.status = 20 * time.Millisecond }
	r.begin()
	q := r.question(true)
	w := r.reply(q)
	w.(*writer).Working()
	const set = "assistant.threads.setStatus"
	r.eventually("it is renewed", func() bool { return len(r.w.Calls(set)) > 3 })
	w.Cancel()
	for method, inThread := range map[string]bool{set: true, "reactions.add": false} {
		t.Run(method, func(t *testing.T) {
			q := r.question(inThread)
			seen := r.w.Seen(method)
			calls := len(r.w.Calls(method))
			r.w.Fail(slacktest.Fault{Of: method, Delay: 300 * time.Millisecond, Late: true})
			w := r.reply(q)
			w.(*writer).Working()
			r.eventually("the sign is on its way", func() bool { return r.w.Seen(method) > seen })
			r.send(w, piece("An answer."))
			r.eventually("the sign is there", func() bool { return len(r.w.Calls(method)) > calls })
			r.end() // what was started is done
			check.Equal(t, "the status that is left", r.w.Status(q.channel, q.thread), "")
			check.Len(t, "reactions that are left", r.reactions(q.channel, q.to[0]), 0)
			r.begin()
		})
	}
}

func TestWhereAnAnswerStands(t *testing.T) {
	for replyIn, threads := range map[string]string{replyAuto: "C1", replyThread: "C1 D1", replyChannel: ""} {
		for _, id := range []string{"C1", "D1"} {
			s := assemble(Options{ReplyIn: replyIn}, platform.NewBase(Name, nil))
			w := s.Reply(conversation(id), []string{"1.000000"}).(*writer)
			check.Equal(t, fmt.Sprintf("%s: an answer in %s is in a thread", replyIn, id), w.place.Thread != "", strings.Contains(threads, id))
		}
	}
	r, _ := thinking(t)
	general, ann := r.place()
	r.begin()
	q := r.question(false)
	r.w.Delete(q.channel, q.to[0]) // so that the answer stands in the channel
	r.send(r.reply(q), piece("An answer."))
	r.answered(q.channel, "An answer.")
	q = r.question(false)
	r.w.Fail(slacktest.Fault{Of: "chat.postMessage", Status: 502, Body: "<html>", Done: true})
	w := r.reply(q)
	r.send(w, r.doubtful(w, piece("An answer."))) // which is looked for in the thread
	r.answered(q.channel, "An answer.")

	question := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "think hard"})
	other := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "lunch?"})
	r.eventually("it thinks", func() bool { return len(r.Model.Requests()) == 1 })
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: other, Text: mention + "/stop"})
	r.answered(general, "There is nothing to stop.")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: question, Text: mention + "/stop"})
	r.answered(general, "There is nothing to stop.", "Stopped.")
	r.Idle(conversation(general))
}

// Its conversation knows the question and the answer, and goes on without the bot's name.
func TestATalkGoesOnInTheThreadOfAnAnswer(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, answerN)
	r.opts.ReplyIn = replyAuto
	r.begin()
	for claim, goOn := range map[string]func(say func()){
		"after a restart":     func(say func()) { r.end(); r.begin(); say() },
		"while it restarts":   func(say func()) { r.end(); say(); r.begin() },
		"between two sockets": func(say func()) { back := r.loseSocket(); say(); back() },
	} {
		t.Run(claim, func(t *testing.T) {
			general, ann := r.place()
			say := func(thread, text string) string {
				return r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: text})
			}
			n := len(r.Model.Requests())
			first := fmt.Sprint("answer ", n+1)
			second := fmt.Sprint("answer ", n+2)
			root := say("", mention+"who painted it?")
			r.answered(general, first)
			r.Idle(conversation(general))
			goOn(func() { say(root, "and when?") })
			r.answered(general, first, second)
			r.stored(conversation(general), "user: who painted it?", "assistant: "+first)
			r.stored(conversation(general, root), "user: and when?", "assistant: "+second)
			check.Contains(t, "what the model was told", fmt.Sprint(r.Model.Requests()[n+1].Messages), "who painted it?", "You answered: "+first, "and when?")
			root = say("", "lunch?") // nobody asked the bot
			say(root, "at noon")
			r.stored(conversation(general, root), "user: at noon")
		})
	}
}

func TestACompactionIsMarkedOnAMessage(t *testing.T) {
	for scope, want := range map[string][]string{"": {emoji[channel.ReactionSummarized]}, "reactions:write": nil} {
		t.Run("without the scope "+scope, func(t *testing.T) {
			r, _, _ := connectedRig(t, slacktest.Options{Scopes: without(scope)}, nil)
			q := r.question(false)
			for range 3 { // it may have been marked so
				check.Error(t, r.connector.React(t.Context(), q.name, q.to[0], channel.ReactionSummarized), nil)
			}
			check.EqualAll(t, "the marks", r.reactions(q.channel, q.to[0]), want)
			if want == nil {
				check.Equal(t, "how often the log tells of it", strings.Count(r.Log.String(), "reaction_refused"), 1)
				check.Contains(t, "the log", r.Log.String(), "lacks the scope reactions:write: add it at")
				check.Equal(t, "how often it was tried", len(r.w.Calls("reactions.add")), 1)
			}
		})
	}
}
