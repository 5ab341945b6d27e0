// What belongs to an answer stands in the thread of the answer.

package slack

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// inThread waits until one message of the bot, in this thread, contains a text, and returns it.
func (r *rig) inThread(channelID, thread, text string) (found slacktest.Message) {
	r.T.Helper()
	r.eventually("the bot says "+text, func() bool {
		for _, m := range r.own(channelID) {
			if strings.Contains(m.Shown(), text) {
				found = m
				return true
			}
		}
		return false
	})
	check.Equal(r.T, "the thread of "+text, found.Thread, thread)
	return found
}

func TestAQuestionAboutAToolStandsInTheThread(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), channeltest.Add)
	r.opts.ReplyIn = replyThread
	r.Tools = &channeltest.Box{Approve: channel.ApproveAlways}
	r.Rules.Access = map[string]channel.Access{Name: {Owners: []string{ann}}}
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.begin()
	box := r.Tools.(*channeltest.Box)
	for claim, decide := range map[string]func(question slacktest.Message){
		"and is answered by its button": func(question slacktest.Message) { r.w.Press(general, question.TS, ann, actionPrefix+"allow") },
		"and is answered there in words": func(question slacktest.Message) {
			_, code, _ := strings.Cut(question.Shown(), "@app /allow ")
			code, _, _ = strings.Cut(code, " ")
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: question.Thread, Text: mention + "/allow " + code})
		},
	} {
		t.Run(claim, func(t *testing.T) {
			called := len(box.Called())
			general, _ = r.place()
			r.w.Join(general, ann)
			r.w.Join(general, bob)
			asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
			question := r.inThread(general, asked, "May I call calc_add")
			r.w.Press(general, question.TS, bob, actionPrefix+"allow")
			check.Equal(t, "the thread where a stranger is refused", r.told(general, bob, 1).Thread, asked)
			check.Len(t, "calls", box.Called(), called)
			decide(question)
			r.inThread(general, asked, "The tool says: five")
			r.inThread(general, asked, "ann allowed the call of calc_add")
		})
	}
	r.uncomplaining()
}

// TestAQuestionOfAnyLengthIsAsked: escaped arguments need several sections.
func TestAQuestionOfAnyLengthIsAsked(t *testing.T) {
	t.Parallel()
	r := idle(t)
	q := r.question(false)
	text := "May I? " + strings.Repeat("<", 1000)
	r.send(r.connector.Reply(q.name, nil), channel.Piece{Reply: "approve-k3f9x.en", Parts: 1, Text: text, Failure: true})
	check.Equal(t, "what it asked", entities.Replace(strings.ReplaceAll(r.own(q.channel)[0].Shown(), "\n", "")), text)
	r.uncomplaining()
}

// A young bot looks for what an earlier process has shown of an answer.
func TestANoticeDoesNotTakeOverTheAnswer(t *testing.T) {
	both(t, func(_ *testing.T, r *rig, inThread bool) {
		q := r.question(inThread)
		w := r.replying(q)
		r.send(r.reply(q), channel.Piece{Reply: "shortened-1", Parts: 1, Text: "(too long)", To: q.to, Failure: true})
		r.send(w, piece("One two."))
		r.answered(q.channel, "One two.", "(too long)")
	})
}

func TestTheResultOfATaskStandsInTheThread(t *testing.T) {
	t.Parallel()
	letGo := make(chan struct{})
	r, general, ann := town(t, quick(), channeltest.Delegate)
	r.opts.ReplyIn = replyThread
	r.Helper = &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		select {
		case <-letGo:
		case <-ctx.Done():
		}
		return llmtest.Say("42"), ctx.Err()
	}}
	r.begin()
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "count"})
	r.inThread(general, asked, "started")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "by the way"})
	r.eventually("that is stored", func() bool {
		lines := r.transcript(conversation(general))
		return lines[len(lines)-1] == "user: by the way"
	})
	close(letGo)
	r.inThread(general, asked, "they say 42")
}

// The bot may have come to the channel after it, and people ask about it all the same.
func TestAMessageFromBeforeTheBotCameIsQuotedAtLength(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	for i, c := range []struct {
		root   slacktest.Post
		quoted string // empty: nothing, since it is deleted
	}{
		{slacktest.Post{Text: strings.Repeat("word ", 90) + "and its end"}, "and its end"},
		{slacktest.Post{Files: []slacktest.File{{Name: "plan.bin", Mimetype: "application/octet-stream"}}}, "replying to ann: plan.bin"},
		{slacktest.Post{Text: "deleted"}, ""},
	} {
		c.root.Channel, c.root.User, c.root.Untold = general, ann, true
		thread := r.w.Say(c.root)
		if c.quoted == "" {
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: "reply", Untold: true})
			r.w.Delete(general, thread)
		}
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: mention + fmt.Sprint("question ", i+1)})
		r.awaitAnswers(general, i+1)
		asked := r.Model.Requests()[i].Messages
		text := asked[len(asked)-1].Text
		if c.quoted == "" {
			check.Lacks(t, "the question", text, "replying to")
		} else {
			check.Contains(t, "the question", text, "replying to ann: ", c.quoted)
		}
	}
}
