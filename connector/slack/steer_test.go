// People talk to an answer that is being written.

package slack

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// addingTown is a town whose bot calls a tool that people have to allow, and then answers with the newest message.
func addingTown(t *testing.T, replyIn string) (r *rig, general, ann string) {
	r, general, ann = town(t, slacktest.Options{}, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			return llmtest.Use(llmtest.Call("1", "calc_add", map[string]any{"a": 2})), nil
		}
		said, _, _ := strings.Cut(req.Messages[len(req.Messages)-1].Text, "\n\n<now>")
		_, text, _ := strings.Cut(said[strings.LastIndex(said, "[#"):], "] ")
		return llmtest.Say("echo: " + text), nil
	})
	r.opts.ReplyIn = replyIn
	r.Tools = &channeltest.Box{Approve: channel.ApproveAlways}
	r.w.Admin(ann)
	r.begin()
	return r, general, ann
}

// said returns what people said in a conversation.
func (r *rig) said(name string) []chat.Message {
	r.T.Helper()
	return slices.DeleteFunc(r.Transcript(name), func(m chat.Message) bool { return m.Role != llm.RoleUser })
}

func TestSteerReachesTheRunningAnswer(t *testing.T) {
	r, general, ann := addingTown(t, replyChannel)
	ben := r.w.AddUser("ben")
	r.w.Join(general, ben)
	shown := func(text string) (found slacktest.Message) {
		t.Helper()
		r.eventually(text, func() bool {
			for _, m := range r.botMessages(general) {
				if strings.Contains(m.Shown(), text) {
					found = m
				}
			}
			return found.TS != ""
		})
		return found
	}
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
	question := shown("May I call calc_add")
	r.w.Command(general, ben, "/cairn", "steer in French")
	line := shown("ben: in French")
	written := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "/steer and briefly"})
	r.eventually("both wait", func() bool {
		c := check.Must(r.Store.Conversation(t.Context(), conversation(general)))(t)
		return check.Must(c.Inbox().Due(t.Context()))(t).Waiting == 2
	})
	r.w.Press(general, question.TS, ann, actionPrefix+"allow")
	shown("echo: and briefly")
	r.Idle(conversation(general))
	said := r.said(conversation(general))
	check.That(t, len(said) == 3 && said[1].Text == "in French" && said[1].Author == "ben" && said[2].ID == written && said[2].Turn == said[0].Seq, "people said %+v", said)
	r.w.Press(general, line.TS, ben, actionPrefix+"forget this")
	r.w.Delete(general, written)
	r.eventually("both are forgotten", func() bool {
		return len(slices.DeleteFunc(r.said(conversation(general)), func(m chat.Message) bool { return m.Text == "" })) == 1
	})
}

// An answer to a message of a channel is shown in the thread under it, and belongs to the channel's conversation.
func TestSteerInTheThreadWhereTheAnswerIsWrittenReachesIt(t *testing.T) {
	r, general, ann := addingTown(t, replyThread)
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
	question := r.inThread(general, asked, "May I call calc_add")
	ben := r.w.AddUser("ben")
	r.w.Join(general, ben)
	written := r.w.Say(slacktest.Post{Channel: general, User: ben, Thread: asked, Text: mention + "/steer in French"})
	r.waits(general)
	r.w.Press(general, question.TS, ann, actionPrefix+"allow")
	r.inThread(general, asked, "echo: in French")
	said := r.said(conversation(general))
	check.That(t, len(said) == 2 && said[1].ID == written && said[1].Text == "in French" && said[1].Author == "ben" && said[1].Turn == said[0].Seq, "people said %+v", said)
	for _, m := range r.botMessages(general) {
		check.Lacks(t, "what the bot posts", m.Shown(), "ben")
	}

	r.Idle(conversation(general)) // the answer is complete: it is a question, in the thread
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "/steer and in German?"})
	r.inThread(general, asked, "echo: and in German?")
	r.end()
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "once more"})
	r.inThread(general, asked, "echo: once more")
	check.Len(t, "what people said in the thread", r.said(conversation(general)+"/"+asked), 2)
}

// waits waits until a message for the running answer of a channel's conversation is in its inbox.
func (r *rig) waits(channelID string) {
	r.T.Helper()
	r.eventually("the message waits", func() bool {
		c := check.Must(r.Store.Conversation(r.T.Context(), conversation(channelID)))(r.T)
		return check.Must(c.Inbox().Due(r.T.Context()))(r.T).Waiting == 1
	})
}

func TestSteerInAThreadIsItsAuthorsMessage(t *testing.T) {
	r, general, ann := addingTown(t, replyThread)
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
	question := r.inThread(general, asked, "May I call calc_add")
	steer := func(text string) (ts string) {
		return r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "/steer " + text})
	}
	written := steer("my PIN is 4711")
	r.waits(general)
	r.w.Edit(general, written, mention+"/steer my PIN is 1234")
	r.eventually("the edit is stored", func() bool {
		c := check.Must(r.Store.Conversation(t.Context(), conversation(general)))(t)
		text, _, err := c.Inbox().Said(t.Context(), written)
		return err == nil && text == "my PIN is 1234"
	})
	r.w.Press(general, question.TS, ann, actionPrefix+"allow")
	r.inThread(general, asked, "echo: my PIN is 1234")
	r.Idle(conversation(general))

	// The thread has other messages, a gap, and a history in which that one is, too; the history of the channel lacks it.
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "first"})
	r.inThread(general, asked, "echo: first")
	r.end()
	r.Exec("UPDATE messages SET saved_at = saved_at - 86400000")
	r.w.Lose(4) // two events for each mention
	away := steer("while away")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "top"})
	r.begin()
	r.inThread(general, asked, "echo: while away")
	r.eventually("the channel's gap is read", func() bool { return len(r.said(conversation(general))) == 3 })
	r.Idle(conversation(general))
	check.Equal(t, "the message", r.said(conversation(general))[1].Text, "my PIN is 1234")
	thread := r.said(conversation(general) + "/" + asked)
	check.That(t, len(thread) == 2 && thread[1].ID == away && thread[1].Text == "while away", "the thread has %+v", thread)

	r.w.Delete(general, written)
	r.eventually("it is forgotten", func() bool {
		return !slices.ContainsFunc(r.said(conversation(general)), func(m chat.Message) bool { return strings.Contains(m.Text, "PIN") })
	})
}

// A message that the answer has not read any more is answered where it was written.
func TestSteerThatComesTooLateIsAnsweredInItsThread(t *testing.T) {
	writes := make(chan struct{})
	ends := make(chan struct{})
	r, general, ann := town(t, slacktest.Options{}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			close(writes)
			<-ends
		}
		return answerN(ctx, n, req)
	})
	r.opts.ReplyIn = replyThread
	r.begin()
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	<-writes
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "/steer in French"})
	r.waits(general)
	close(ends)
	r.inThread(general, asked, "answer 1")
	r.inThread(general, asked, "answer 2")
	check.Len(t, "what people said in the channel's conversation", r.said(conversation(general)), 2)
}

// What belongs to the answer that a late message in a thread has started is written in that thread, too.
func TestTheAnswerToALateSteerIsStoppedAndSteeredInItsThread(t *testing.T) {
	writes := make(chan struct{}, 2)
	ends := make(chan struct{})
	r, general, ann := town(t, slacktest.Options{}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		writes <- struct{}{}
		if n == 1 {
			<-ends
			return answerN(ctx, n, req)
		}
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	r.opts.ReplyIn = replyThread
	r.begin()
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	<-writes
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "/steer in French"})
	r.waits(general)
	close(ends)
	r.inThread(general, asked, "answer 1")
	<-writes
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "/steer and in German"})
	r.waits(general)
	other := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "another thread"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: other, Text: mention + "/stop"})
	r.inThread(general, other, "There is nothing to stop")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: asked, Text: mention + "/stop"})
	r.inThread(general, asked, "Stopped.")
}

// A question is answered eight days later, by another process, where nothing waits for the answer.
func TestAToolIsAllowedByAButtonDaysLater(t *testing.T) {
	for _, replyIn := range []string{replyChannel, replyThread} {
		t.Run(replyIn, func(t *testing.T) {
			r, general, ann := town(t, slacktest.Options{}, channeltest.Add)
			r.opts.ReplyIn = replyIn
			box := &channeltest.Box{Approve: channel.ApproveAlways}
			r.Tools = box
			r.w.Admin(ann)
			r.begin()
			asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
			find := func(text string) (found slacktest.Message) {
				t.Helper()
				r.eventually(text, func() bool {
					for _, m := range r.botMessages(general) {
						if strings.Contains(m.Shown(), text) {
							found = m
						}
					}
					return found.TS != ""
				})
				return found
			}
			question := find("May I call calc_add")
			check.Equal(t, "the thread", question.Thread, map[string]string{replyChannel: "", replyThread: asked}[replyIn])
			r.end()
			r.Exec(channeltest.DaysLater)
			r.begin()
			r.Idle(conversation(general))
			check.Len(t, "messages, as before", r.botMessages(general), 1)
			r.w.Press(general, question.TS, ann, actionPrefix+"allow")
			check.Equal(t, "the thread", find("The tool says: five").Thread, question.Thread)
			find("ann allowed the call of calc_add; I go on with it.")
			check.Len(t, "calls", box.Called(), 1)
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
			again := find("May I call calc_add")
			r.w.Command(general, ann, "/cairn", "stop")
			find("Stopped.")
			r.Idle(conversation(general))
			before := len(r.botMessages(general, ann))
			r.w.Press(general, again.TS, ann, actionPrefix+"allow")
			check.Contains(t, "what a press that is too late brings", r.awaitPrivate(general, ann, before+1).Shown(), "No such tool call is waiting")
			check.Len(t, "calls", box.Called(), 1)
		})
	}
}
