// What belongs to an answer stands in the thread of the answer.

package slack

import (
	"context"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// threaded is a rig that answers in threads.
func threaded(t *testing.T, model func(context.Context, int, llm.Request) (llm.Response, error)) (r *rig, general, ann string) {
	t.Helper()
	r, general, ann = town(t, quick(), model)
	r.opts.ReplyIn = replyThread
	return r, general, ann
}

// inThread waits until one message of the bot, in this thread, contains a text, and returns it.
func (r *rig) inThread(channelID, thread, text string) (found slacktest.Message) {
	r.t.Helper()
	r.eventually("the bot says "+text, func() bool {
		for _, m := range r.own(channelID) {
			if strings.Contains(m.Shown(), text) {
				found = m
				return true
			}
		}
		return false
	})
	check.Equal(r.t, "the thread of "+text, found.Thread, thread)
	return found
}

func TestAQuestionAboutAToolStandsInTheThread(t *testing.T) {
	t.Parallel()
	for claim, decide := range map[string]func(r *rig, general, boss string, question slacktest.Message){
		"and is answered by its button": func(r *rig, general, boss string, question slacktest.Message) {
			r.w.Press(general, question.TS, boss, actionPrefix+"allow")
		},
		"and is answered there in words": func(r *rig, general, boss string, question slacktest.Message) {
			_, code, _ := strings.Cut(question.Shown(), "@app /allow ")
			code, _, _ = strings.Cut(code, " ")
			r.w.Say(slacktest.Post{Channel: general, User: boss, Thread: question.Thread, Text: mention + "/allow " + code})
		},
	} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := threaded(t, channeltest.Add)
			r.tools = &channeltest.Box{Approve: channel.ApproveAlways}
			r.rules.Access = map[string]channel.Access{Name: {Owners: []string{ann}}}
			bob := r.w.AddUser("bob")
			r.w.Join(general, bob)
			r.begin()
			asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
			question := r.inThread(general, asked, "May I call calc_add")
			r.w.Press(general, question.TS, bob, actionPrefix+"allow")
			check.Equal(t, "the thread where a stranger is refused", r.told(general, bob, 1).Thread, asked)
			decide(r, general, ann, question)
			r.inThread(general, asked, "The tool says: five")
			r.inThread(general, asked, "ann allowed the call of calc_add")
			r.uncomplaining()
		})
	}
}

// TestAQuestionOfAnyLengthIsAsked: escaped arguments need several sections.
func TestAQuestionOfAnyLengthIsAsked(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	place := conversation(general)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	r.answered(general, "answer 1")
	text := "May I? " + strings.Repeat("<", 1000)
	r.send(r.connector.Reply(place, nil), channel.Piece{Reply: "approve-k3f9x.en", Parts: 1, Text: text, Failure: true})
	own := r.own(general)
	check.Equal(t, "what it asked", entities.Replace(strings.ReplaceAll(own[len(own)-1].Shown(), "\n", "")), text)
	r.uncomplaining()
}

// A young bot looks for what an earlier process has shown of an answer.
func TestANoticeDoesNotTakeOverTheAnswer(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		w := r.replying(q)
		r.send(r.connector.Reply(q.name, q.to), channel.Piece{Reply: "shortened-1", Parts: 1, Text: "(too long)", To: q.to, Failure: true})
		r.send(w, piece("One two."))
		r.answered(q.channel, "One two.", "(too long)")
	})
}

func TestTheResultOfATaskStandsInTheThread(t *testing.T) {
	t.Parallel()
	letGo := make(chan struct{})
	r, general, ann := threaded(t, channeltest.Delegate)
	r.helper = &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
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
	r, general, ann := threaded(t, answerN)
	r.begin()
	for i, c := range []struct {
		root   slacktest.Post
		quoted string
	}{
		{slacktest.Post{Text: strings.Repeat("word ", 90) + "and its end"}, "and its end"},
		{slacktest.Post{Files: []slacktest.File{{Name: "plan.bin", Mimetype: "application/octet-stream"}}}, "replying to ann: plan.bin"},
	} {
		c.root.Channel, c.root.User, c.root.Untold = general, ann, true
		thread := r.w.Say(c.root)
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: mention + "what is this?"})
		r.awaitAnswers(general, i+1)
		asked := r.model.Requests()[i].Messages
		check.Contains(t, "the question", asked[len(asked)-1].Text, "replying to ann: ", c.quoted)
	}
	gone := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "deleted", Untold: true})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: gone, Text: "reply", Untold: true})
	r.w.Delete(general, gone)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: gone, Text: mention + "and this?"})
	r.awaitAnswers(general, 3)
	for _, m := range r.messages(conversation(general, gone)) {
		check.Equal(t, "a deleted message is quoted as", m.Quote, "")
	}
}
