// Replies: sent once, in pieces, with a status.

package slack

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// target is where a reply goes in these tests: to a message in a channel, or in a
// thread.
type target struct {
	name, channel, thread string
	to                    []string
}

func (r *rig) question(inThread bool) target {
	general, ann := r.place()
	q := target{channel: general}
	if inThread {
		q.thread = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	}
	ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "question", Thread: q.thread})
	q.to = []string{ts}
	q.name = channel.Place{Connector: Name, Server: slacktest.TeamID, Channel: general, Thread: q.thread}.String()
	return q
}

// asked is a rig that knows the question, but whose model is never asked.
func asked(t testing.TB, inThread bool) (*rig, target) {
	t.Helper()
	r := idle(t)
	q := r.question(inThread)
	r.begin()
	r.known(q)
	return r, q
}

// known waits until the author of a question is known, for whom a reply may be streamed.
func (r *rig) known(q target) {
	r.t.Helper()
	r.eventually("the question is known", func() bool { _, ok := r.connector.authors.Find(q.channel + "/" + q.to[0]); return ok })
}

// replying is the writer of a reply of which people see the first word.
func (r *rig) replying(q target) channel.Writer {
	r.t.Helper()
	w := r.connector.Reply(q.name, q.to)
	w.Show("One ")
	r.shows(q.channel, "One")
	return w
}

func piece(text string) channel.Piece {
	return channel.Piece{Reply: "r1", Parts: 1, Text: text}
}

func (r *rig) send(w channel.Writer, p channel.Piece) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	id, err := w.Send(ctx, p)
	check.Require(r.t, err == nil, "send: %v\n%s", err, r.logs)
	return id
}

// insist sends a piece as the outbox does: until that works, as one that may have arrived.
func (r *rig) insist(w channel.Writer, p channel.Piece) {
	r.t.Helper()
	r.eventually("the piece is sent", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		_, err := w.Send(ctx, p)
		p.Sending = true
		return err == nil
	})
}

// doubtful sends a piece, which must fail, and returns it as the outbox sends it again.
func (r *rig) doubtful(w channel.Writer, p channel.Piece) channel.Piece {
	r.t.Helper()
	if _, err := w.Send(r.t.Context(), p); err == nil {
		r.t.Fatal("the piece was sent, want a failure")
	}
	p.Sending = true
	return p
}

// shows waits until the bot's newest message in a channel reads so, finished or not.
func (r *rig) shows(channelID, want string) {
	r.t.Helper()
	r.eventually("the bot shows "+want, func() bool {
		own := r.own(channelID)
		return len(own) > 0 && own[len(own)-1].Shown() == want
	})
}

// own are the bot's messages in a channel.
func (r *rig) own(channelID string) []slacktest.Message {
	var own []slacktest.Message
	for _, m := range r.w.Messages(channelID) {
		if m.BotID == slacktest.BotID && m.OnlyFor == "" {
			own = append(own, m)
		}
	}
	return own
}

// idle is a rig whose model is never asked. What was said before the bot came is
// repeated until it has, on a busy machine too.
func idle(t testing.TB) *rig {
	o := quick()
	o.Redeliver = append(o.Redeliver, 500*time.Millisecond, time.Second, 3*time.Second)
	return newRig(t, o, nil)
}

// both runs a test of a reply in a channel, which is edited, and of one in a thread,
// which is streamed.
func both(t *testing.T, run func(t *testing.T, inThread bool)) {
	t.Run("in a channel", func(t *testing.T) { run(t, false) })
	t.Run("in a thread", func(t *testing.T) { run(t, true) })
}

func TestWaitingForARateLimitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r, q := asked(t, false)
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", RetryAfter: time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		r.w.Wait(soon, func() bool { return len(r.w.Calls("chat.postMessage")) > 0 })
		cancel()
	}()
	check.Error(t, check.ErrorOf(r.connector.Reply(q.name, q.to).Send(ctx, piece("late"))), context.Canceled)
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

func TestAFailedPostIsDoneOnce(t *testing.T) {
	t.Parallel()
	faults := maps.Clone(failures)
	faults["not done, and no answer"] = slacktest.Fault{Delay: time.Minute}
	faults["done, and no answer"] = slacktest.Fault{Delay: time.Minute, TakesEffect: true}
	for claim, fault := range faults {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r, general, ann := town(t, quick(), answerN)
			if fault.Delay > 0 {
				r.tune = func(s *Slack) { s.api.http.Timeout = time.Second }
			}
			r.begin()
			fault.Method = "chat.postMessage"
			r.w.Fail(fault)
			r.ask(general, ann, 1)
			r.settled(conversation(general))
			r.awaitAnswers(general, 1)
		})
	}
}

func TestWhatMayHaveBeenSentIsLookedUp(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		sent := []channel.Piece{{Reply: "r1", Part: 0, Parts: 2, Text: "First part."}, {Reply: "r1", Part: 1, Parts: 2, Text: "Second part."}}
		w := r.connector.Reply(q.name, q.to)
		first, second := r.send(w, sent[0]), r.send(w, sent[1])
		r.end() // and the note that they were sent is lost
		r.begin()
		sent[0].Sending, sent[1].Sending = true, true
		w = r.connector.Reply(q.name, q.to)
		check.Equal(t, "the first part", r.send(w, sent[0]), first)
		check.Equal(t, "the second part", r.send(w, sent[1]), second)
		other := piece("Another reply to the same.")
		other.Reply, other.Sending = "r2", true
		r.send(r.connector.Reply(q.name, q.to), other)
		r.answered(q.channel, "First part.", "Second part.", "Another reply to the same.")
	})
	t.Run("though it answers a message that Slack does not know", func(t *testing.T) {
		r, q := asked(t, false)
		to := []string{"D1:1"} // imported
		p := piece("A late answer.")
		first := r.send(r.connector.Reply(q.name, to), p)
		p.Sending = true
		check.Equal(t, "the piece", r.send(r.connector.Reply(q.name, to), p), first)
		r.answered(q.channel, "A late answer.")
	})
}

func TestAPieceThatCanNeverBeSent(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.w.Leave(general, slacktest.BotUserID)
	q := target{name: conversation(general), to: []string{"1700000000.000100"}}
	check.Error(t, check.ErrorOf(r.connector.Reply(q.name, q.to).Send(context.Background(), piece("lost"))), channel.ErrGone)
	r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "still there?"})
	r.answered(r.w.DM(ann), "answer 1")
}

func TestALongReplyIsSentInPieces(t *testing.T) {
	t.Parallel()
	o := quick()
	o.PostEvery = 200 * time.Millisecond // limits it, with a Retry-After of a second
	r := newRig(t, o, nil)
	q := r.question(false)
	r.begin()
	text := strings.Repeat("All work and no play. ", 500)
	pieces := r.connector.Split(text)
	check.Len(t, "pieces", pieces, 3)
	w := r.connector.Reply(q.name, q.to)
	w.Show(text)
	r.eventually("the first piece is shown", func() bool { return len(r.own(q.channel)) == 1 })
	for i, p := range pieces {
		r.send(w, channel.Piece{Reply: "r1", Part: i, Parts: 3, Text: p})
	}
	if got := strings.Join(r.said(q.channel), ""); got != text {
		t.Errorf("%d characters of %d arrived", len(got), len(text))
	}
	r.uncomplaining()
}

func TestAStatusIsRenewedWhileItTakesLong(t *testing.T) {
	t.Parallel()
	r := idle(t)
	r.hurry = func(c *times) { c.status = 20 * time.Millisecond }
	q := r.question(true)
	r.begin()
	w := r.connector.Reply(q.name, q.to)
	w.(*writer).Working()
	r.eventually("it is renewed", func() bool { return len(r.w.Calls("assistant.threads.setStatus")) > 3 })
	w.Cancel()
}
