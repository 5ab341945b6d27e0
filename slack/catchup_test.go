// What was said while the bot was away, and before it came.

package slack

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// ok answers everything with "ok".
func ok(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("ok"), nil }

// unhelpful is a Slack that sends nothing again.
func unhelpful() slacktest.Options { return slacktest.Options{Redeliver: []time.Duration{}} }

func TestWhatWasMissedIsRead(t *testing.T) {
	t.Parallel()
	for claim, away := range map[string]func(r *rig) (back func()){
		"while the bot was down": func(r *rig) func() {
			r.end()
			return r.begin
		},
		"while the socket was lost": (*rig).loseSocket,
	} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := town(t, unhelpful(), ok)
			hushed := r.w.AddChannel("hushed", ann)
			r.w.DM(ann)
			thread := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
			r.begin()
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "before"})
			r.stored(conversation(general), "user: a thread", "user: before", "assistant: ok")
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: "known here"})
			r.stored(conversation(general, thread), "user: known here")

			back := away(r)
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "missed"})
			root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "missed too"})
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: "missed in the thread"})
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "missed in a new thread"})
			r.w.Say(slacktest.Post{Channel: hushed, User: ann, Text: "missed where nothing was ever said"})
			r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "missed alone with the bot"})
			back()
			r.stored(conversation(general), "user: a thread", "user: before", "assistant: ok", "user: missed", "user: missed too", "assistant: ok")
			r.stored(conversation(general, thread), "user: known here", "user: missed in the thread")
			r.stored(conversation(general, root), "user: missed in a new thread")
			r.stored(conversation(hushed), "user: missed where nothing was ever said")
			r.stored(conversation(r.w.DM(ann)), "user: missed alone with the bot", "assistant: ok")
			r.answered(general, "ok", "ok")
		})
	}
}

func TestAnEventThatGotLostBeforeALaterOneIsRead(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	thread := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
	r.begin()
	for _, in := range []string{"", thread} {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: in, Text: "came"})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: in, Text: "lost", Untold: true})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: in, Text: "came too"})
	}
	r.eventually("what came is kept", r.acknowledged) // before anybody looks: that alone makes a conversation, which may have missed something
	r.newSocket()
	r.stored(conversation(general), "user: came", "user: came too", "user: lost")
	r.stored(conversation(general, thread), "user: came", "user: came too", "user: lost")
}

// newSocket cuts the socket and waits for another.
func (r *rig) newSocket() {
	r.t.Helper()
	old := r.w.Sockets()[0]
	old.Cut()
	r.eventually("another socket", func() bool { all := r.w.Sockets(); return len(all) == 1 && all[0] != old })
}

func TestWhatWasSaidBeforeTheBotCameIsNotMissed(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	r.w.Leave(general, slacktest.BotUserID)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "between ourselves"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "are you there?"})
	r.begin()
	r.w.Join(general, slacktest.BotUserID)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "hello all"})
	r.eventually("it is kept", r.acknowledged)
	r.newSocket()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "later"})
	r.stored(conversation(general), "user: hello all", "user: later")
	r.answered(general)
}

func TestTheVeryFirstMessageMayFallBetweenTwoSockets(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "before it was there"})
	r.begin()
	r.betweenSockets(func() {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
		r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "hello"})
	})
	r.answered(general, "ok")
	r.answered(r.w.DM(ann), "ok")
	r.stored(conversation(general), "user: before it was there", "user: hello", "assistant: ok") // one answer, to both if it had been asked twice
	check.Equal(t, "requests", len(r.model.Requests()), 2)
}

func (r *rig) loseSocket() (back func()) {
	r.t.Helper()
	r.w.Fail(slacktest.Fault{Method: "apps.connections.open", Status: 503, Times: -1})
	r.w.Sockets()[0].Cut()
	r.eventually("it is gone", func() bool { return len(r.w.Sockets()) == 0 })
	return r.w.Heal
}

// betweenSockets lets something happen while there is no socket.
func (r *rig) betweenSockets(do func()) {
	r.t.Helper()
	back := r.loseSocket()
	do()
	back()
}

func TestALongGapIsReadOnceAndInOrder(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, unhelpful(), ok)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	r.stored(conversation(general), "user: before")
	r.end()
	const n = 450
	r.w.Burst(n, slacktest.Post{Channel: general, User: ann, Text: "missed"})
	r.w.Fail(slacktest.Fault{Method: "conversations.history", Skip: 2, RetryAfter: time.Second})
	r.w.Fail(slacktest.Fault{Method: "conversations.history", Skip: 3, Status: 500})
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "after"})
	r.eventually("all is there", func() bool {
		r.settled(conversation(general))
		return len(r.messages(conversation(general))) == n+2
	})
	for i, m := range r.messages(conversation(general)) {
		want := fmt.Sprintf("missed #%d", i)
		if i == 0 {
			want = "before"
		} else if i > n {
			want = "after"
		}
		check.Require(t, m.Text == want, "message %d is %q, want %q", i, m.Text, want)
	}
	if calls := len(r.w.Calls("conversations.history")); calls > 3+2+2 {
		t.Errorf("%d pages for %d messages", calls, n)
	}
}

func TestHistoryOfAThread(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	var replies []string
	for i := range 300 {
		replies = append(replies, r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: fmt.Sprint("reply ", i)}))
	}
	r.begin()
	name := conversation(general, root)
	newest := check.Must(r.connector.History(t.Context(), name, channel.Look{Before: replies[250], Limit: 100}))(t).Said
	if len(newest) != 100 || newest[0].Text != "reply 150" || newest[99].Text != "reply 249" {
		t.Errorf("before a message: %d messages", len(newest))
	}
	var all []channel.Inbound
	for after, more := replies[0], true; more; {
		page := check.Must(r.connector.History(t.Context(), name, channel.Look{After: after, Limit: 100}))(t)
		after, more = page.Last, page.More
		all = append(all, page.Said...)
	}
	if len(all) != 299 || all[0].Text != "reply 1" || all[298].Text != "reply 299" {
		t.Errorf("after a message: %d messages", len(all))
	}
}

func TestHistoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, general, _ := connectedRig(t, unhelpful(), ok)
	const ts = "1700000000.000000"
	for name, after := range map[string]string{
		conversation("C404"): ts, conversation(general, "1700000000.000001"): ts, conversation(general): "D1:1", // imported
	} {
		if _, err := r.connector.History(t.Context(), name, channel.Look{After: after, Limit: 10}); !errors.Is(err, channel.ErrGone) {
			t.Errorf("%s: got %v, want %v", name, err, channel.ErrGone)
		}
	}
	t.Run("for now", func(t *testing.T) {
		r.w.Fail(slacktest.Fault{Method: "conversations.history", RetryAfter: time.Hour, Times: -1})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		check.Error(t, check.ErrorOf(r.connector.History(ctx, conversation(general), channel.Look{After: ts, Limit: 10})), context.DeadlineExceeded)
	})
}
