// Replies: sent once, in pieces, with a status.

package slack

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// target is where a reply goes in these tests: to a message in a channel, or in a thread.
type target struct {
	name, channel, thread string
	to                    []string
}

// idle is a connected rig whose model is never asked.
func idle(t testing.TB) *rig {
	r := newRig(t, quick(), nil)
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
	r.eventually("the question is known", func() bool { _, ok := r.connector.authors.Find(q.channel + "/" + q.to[0]); return ok })
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
		own := r.own(channelID)
		return len(own) > 0 && own[len(own)-1].Shown() == want
	})
}

// failures are ways in which a post may go wrong.
var failures = map[string]slacktest.Fault{
	"refused by a proxy":             {Status: 502, Body: "<html>bad gateway</html>"},
	"done, and the answer lost":      {Status: 502, Body: "<html>bad gateway</html>", TakesEffect: true},
	"done, and the connection cut":   {Cut: true, TakesEffect: true},
	"not done, the connection cut":   {Cut: true},
	"done, and the answer garbled":   {Body: "{", TakesEffect: true},
	"done, with an error of Slack's": {Error: "internal_error", TakesEffect: true},
}

// The ways in which it fails are those of TestAFailureWhileItIsShownIsRepaired.
func TestAFailedPostIsDoneOnce(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	r.tune = func(s *Slack) { s.api.http.Timeout = time.Second }
	r.begin()
	for i, fault := range []slacktest.Fault{{Delay: time.Minute}, {Delay: time.Minute, TakesEffect: true}, {Cut: true, TakesEffect: true}} {
		fault.Method = "chat.postMessage"
		r.w.Fail(fault)
		r.ask(general, ann, i+1)
		r.Idle(conversation(general))
		r.awaitAnswers(general, i+1)
	}
}

func TestWhatMayHaveBeenSentIsLookedUp(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		q := r.question(inThread)
		sent := []channel.Piece{{Reply: "r1", Part: 0, Parts: 2, Text: "First part."}, {Reply: "r1", Part: 1, Parts: 2, Text: "Second part."}}
		w := r.reply(q)
		first, second := r.send(w, sent[0]), r.send(w, sent[1])
		r.end() // and the note that they were sent is lost
		r.begin()
		sent[0].Sending, sent[1].Sending = true, true
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
	t.Parallel()
	r := idle(t)
	q := r.question(false)
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", RetryAfter: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	check.Error(t, check.ErrorOf(r.reply(q).Send(ctx, piece("late"))), context.DeadlineExceeded)
	r.w.Leave(q.channel, slacktest.BotUserID)
	check.Error(t, check.ErrorOf(r.reply(q).Send(t.Context(), piece("lost"))), channel.ErrGone)
}

func TestALongReplyIsSentInPieces(t *testing.T) {
	t.Parallel()
	r := idle(t)
	q := r.question(false)
	text := strings.Repeat("All work and no play. ", 500)
	pieces := r.connector.Split(text)
	check.Len(t, "pieces", pieces, 3)
	w := r.reply(q)
	w.Show(text)
	r.eventually("the first piece is shown", func() bool { return len(r.own(q.channel)) == 1 })
	for _, fault := range []slacktest.Fault{{RetryAfter: time.Second}, {Status: 502, Body: "<html>"}} { // to the second piece
		fault.Method = "chat.postMessage"
		r.w.Fail(fault)
	}
	for i, p := range pieces {
		r.insist(w, channel.Piece{Reply: "r1", Part: i, Parts: 3, Text: p})
	}
	got := strings.Join(r.said(q.channel), "")
	check.That(t, got == text, "%d characters of %d arrived", len(got), len(text))
	r.uncomplaining()
}
