// Replies: sent once, in pieces, in the thread of the answer.

package slack

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

type target struct {
	name, channel, thread string
	to                    []string
}

func idle(t *testing.T) *rig {
	const minute = time.Second // a short one: a test may stop more streams than Slack allows in a long one
	r, _, _ := town(t, slacktest.Options{Minute: minute}, nil)
	r.tune = func(s *Slack) { s.api.gates.window = minute + 100*time.Millisecond }
	r.begin()
	return r
}

// question has somebody ask something in a new channel, or in a thread there.
func (r *rig) question(inThread bool) target {
	r.T.Helper()
	general, ann := r.place()
	q := target{channel: general, name: conversation(general)}
	if inThread {
		q.thread = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
		q.name = conversation(general, q.thread)
	}
	q.to = []string{r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "question", Thread: q.thread})}
	r.known(q)
	return q
}

// known waits until the author of a question is known, for whom a reply may be streamed.
func (r *rig) known(q target) {
	r.T.Helper()
	r.eventually("the question is known", func() bool { _, ok := r.connector.recent.authors.Find(q.channel + "/" + q.to[0]); return ok })
}

func (r *rig) reply(q target) channel.Writer { return r.connector.Reply(q.name, q.to) }

// replying is the writer of a reply of which people see the first word.
func (r *rig) replying(q target) channel.Writer {
	r.T.Helper()
	w := r.reply(q)
	w.Show("One ")
	r.shows(q.channel, "One")
	return w
}

func piece(text string) channel.Piece { return channel.Piece{Reply: "r1", Parts: 1, Text: text} }

func (r *rig) send(w channel.Writer, p channel.Piece) string {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	id, err := w.Send(ctx, p)
	check.Require(r.T, err == nil, "send: %v\n%s", err, &r.Log)
	return id
}

// insist sends a piece as the outbox does: until that works, as one that may have arrived.
func (r *rig) insist(w channel.Writer, p channel.Piece) {
	r.T.Helper()
	r.eventually("the piece is sent", func() bool {
		_, err := w.Send(r.T.Context(), p)
		p.Sending = true
		return err == nil
	})
}

// doubtful sends a piece, which must fail, and returns it as the outbox sends it again.
func (r *rig) doubtful(w channel.Writer, p channel.Piece) channel.Piece {
	r.T.Helper()
	_, err := w.Send(r.T.Context(), p)
	check.Require(r.T, err != nil, "the piece was sent, want a failure")
	p.Sending = true
	return p
}

// shows waits until the bot's newest message in a channel reads so, finished or not.
func (r *rig) shows(channelID, want string) {
	r.T.Helper()
	r.eventually("the bot shows "+want, func() bool {
		own := r.botMessages(channelID)
		return len(own) > 0 && own[len(own)-1].Shown() == want
	})
}

func TestWhatMayHaveBeenSentIsLookedUp(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		q := r.question(inThread)
		sent := []channel.Piece{{Reply: "r1", Part: 0, Parts: 2, Text: "First part."}, {Reply: "r1", Part: 1, Parts: 2, Text: "Second part."}}
		w := r.reply(q)
		first := r.send(w, sent[0])
		second := r.send(w, sent[1])
		r.end() // and the note that they were sent is lost
		r.begin()
		sent[0].Sending = true
		sent[1].Sending = true
		w = r.reply(q)
		check.Equal(t, "the first part", r.send(w, sent[0]), first)
		check.Equal(t, "the second part", r.send(w, sent[1]), second)
		r.send(r.reply(q), channel.Piece{Reply: "r2", Parts: 1, Text: "Another reply to the same.", Sending: true})
		r.answered(q.channel, "First part.", "Second part.", "Another reply to the same.")

		q = r.question(inThread) // it may answer a message that Slack does not know
		q.to = []string{"D1:1"}  // imported
		p := piece("A late answer.")
		first = r.send(r.reply(q), p)
		p.Sending = true
		check.Equal(t, "the piece", r.send(r.reply(q), p), first)
		r.answered(q.channel, "A late answer.")
	})
}

func TestAPieceThatCannotBeSent(t *testing.T) {
	r := idle(t)
	q := r.question(false)
	r.w.Fail(slacktest.Fault{Of: "chat.postMessage", RetryAfter: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- check.ErrorOf(r.reply(q).Send(ctx, piece("late"))) }()
	r.eventually("the call is refused", func() bool { return len(r.w.Calls("chat.postMessage")) == 1 })
	cancel()
	check.Error(t, <-sent, context.Canceled)
	r.w.Leave(q.channel, slacktest.BotUserID)
	check.Error(t, check.ErrorOf(r.reply(q).Send(t.Context(), piece("lost"))), channel.ErrGone)
}

func TestWhatIsLongIsSentInPieces(t *testing.T) {
	r := idle(t)
	q := r.question(false)
	text := strings.Repeat("All work and no play. ", 500)
	pieces := r.connector.Split(text)
	check.Len(t, "pieces", pieces, 3)
	w := r.reply(q)
	w.Show(text)
	r.eventually("the first piece is shown", func() bool { return len(r.botMessages(q.channel)) == 1 })
	for _, fault := range []slacktest.Fault{{RetryAfter: time.Second}, {Status: 502, Body: "<html>"}} { // to the second piece
		fault.Of = "chat.postMessage"
		r.w.Fail(fault)
	}
	for i, p := range pieces {
		r.insist(w, channel.Piece{Reply: "r1", Part: i, Parts: 3, Text: p})
	}
	got := strings.Join(r.botTexts(q.channel), "")
	check.That(t, got == text, "%d characters of %d arrived", len(got), len(text))

	q = r.question(false)
	text = "May I? " + strings.Repeat("<", 1000) // escaped, it needs several sections
	r.send(r.connector.Reply(q.name, nil), channel.Piece{Reply: "approve-k3f9x.en", Parts: 1, Text: text, Failure: true})
	check.Equal(t, "what it asked", entities.Replace(strings.ReplaceAll(r.botMessages(q.channel)[0].Shown(), "\n", "")), text)
}

// inThread waits until one message of the bot, in this thread, contains a text, and returns it.
func (r *rig) inThread(channelID, thread, text string) (found slacktest.Message) {
	r.T.Helper()
	r.eventually("the bot says "+text, func() bool {
		for _, m := range r.botMessages(channelID) {
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

func TestAQuestionAboutAToolAndTheResultOfATaskStandInTheThread(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if strings.Contains(fmt.Sprint(req.Messages), "please add") {
			return channeltest.Add(ctx, n, req)
		}
		return channeltest.Delegate(ctx, n, req)
	})
	r.opts.ReplyIn = replyThread
	r.Helper = &llmtest.Model{Func: answerN}
	r.Tools = &channeltest.Box{Approve: channel.ApproveAlways}
	r.Rules.Access = map[string]access.Access{Name: {Owners: []string{ann}}}
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
			check.Equal(t, "the thread where a stranger is refused", r.awaitPrivate(general, bob, 1).Thread, asked)
			check.Len(t, "calls", box.Called(), called)
			decide(question)
			r.inThread(general, asked, "The tool says: five")
			r.inThread(general, asked, "ann allowed the call of calc_add")
		})
	}
	general = r.w.AddChannel("tasks", ann)
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "count"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "by the way"})
	r.inThread(general, asked, "they say 42")
}

// The bot may have come to the channel after it, and people ask about it all the same.
func TestAMessageFromBeforeTheBotCameIsQuotedAtLength(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	for i, c := range []struct {
		root   slacktest.Post
		quoted string // empty: nothing, since it is deleted
	}{
		{slacktest.Post{Text: strings.Repeat("word ", 90) + "and its end"}, "and its end"},
		{slacktest.Post{Files: []slacktest.File{{Name: "plan.bin", Mimetype: "application/octet-stream"}}}, "replying to ann: plan.bin"},
		{slacktest.Post{Text: "deleted"}, ""},
	} {
		c.root.Channel = general
		c.root.User = ann
		c.root.Untold = true
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

func TestAHistoryThatTellsOfNoMetadata(t *testing.T) {
	r, _, _ := connectedRig(t, slacktest.Options{Histories: func(message map[string]any) { delete(message, "metadata") }}, nil)
	for _, inThread := range []bool{false, true} {
		q := r.question(inThread)
		r.send(r.reply(q), channel.Piece{Reply: "r1", Parts: 1, Text: "First answer."})
		r.w.Fail(slacktest.Fault{Of: "chat.postMessage", Status: 502, Body: "<html>", Done: true})
		w := r.reply(q)
		r.send(w, r.doubtful(w, channel.Piece{Reply: "r2", Parts: 1, Text: "Second & last."}))
		r.answered(q.channel, "First answer.", "Second & last.") // known by its text, and not written over the other
		r.w.Fail(slacktest.Fault{Of: "chat.postMessage", Status: 502, Body: "<html>"})
		w = r.reply(q)
		r.send(w, r.doubtful(w, channel.Piece{Reply: "r3", Parts: 1, Text: "First answer."}))
		r.answered(q.channel, "First answer.", "Second & last.", "First answer.") // not taken for another one
	}
}
