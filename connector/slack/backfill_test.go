// What was said while the bot was away, and before it came.

package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

func ok(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("ok"), nil }

// unhelpful is a Slack that sends nothing again.
func unhelpful() slacktest.Options { return slacktest.Options{Redeliver: []time.Duration{}} }

func TestWhatWasMissedIsRead(t *testing.T) {
	r, _, _ := connectedRig(t, unhelpful(), ok)
	for claim, away := range map[string]func() (back func()){
		"while the bot was down":    func() func() { r.end(); return r.begin },
		"while the socket was lost": r.loseSocket,
	} {
		t.Run(claim, func(*testing.T) {
			general, ann := r.place()
			hushed := r.w.AddChannel("hushed", ann)
			dm := r.w.DM(ann)
			say := func(channelID, thread, text string) string {
				return r.w.Say(slacktest.Post{Channel: channelID, User: ann, Thread: thread, Text: text})
			}
			old := say(general, "", "old")
			thread := say(general, "", "a thread")
			say(general, "", mention+"before")
			r.stored(conversation(general), "user: old", "user: a thread", "user: before", "assistant: ok")
			say(general, thread, "known here")
			r.stored(conversation(general, thread), "user: known here")

			back := away()
			say(general, "", "missed")
			root := say(general, "", mention+"missed too")
			say(general, thread, "missed in the thread")
			say(general, old, mention+"missed under an old message")
			say(general, root, "missed in a new thread")
			say(hushed, "", "missed where nothing was ever said")
			say(dm, "", "missed alone with the bot")
			back()
			r.stored(conversation(general), "user: old", "user: a thread", "user: before", "assistant: ok", "user: missed", "user: missed too", "assistant: ok")
			r.stored(conversation(general, thread), "user: known here", "user: missed in the thread")
			r.stored(conversation(general, old), "user: missed under an old message", "assistant: ok")
			r.stored(conversation(general, root), "user: missed in a new thread")
			r.stored(conversation(hushed), "user: missed where nothing was ever said")
			r.stored(conversation(dm), "user: missed alone with the bot", "assistant: ok")
			r.answered(general, "ok", "ok", "ok")
		})
	}
}

func TestAnEventThatGotLostBeforeALaterOneIsRead(t *testing.T) {
	r, general, ann := town(t, unhelpful(), ok)
	thread := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
	late := r.w.AddChannel("late", ann)
	r.w.Leave(late, slacktest.BotUserID)
	r.w.Say(slacktest.Post{Channel: late, User: ann, Text: mention + "said before the bot came, are you there?"})
	r.begin()
	r.w.Join(late, slacktest.BotUserID)
	r.w.Say(slacktest.Post{Channel: late, User: ann, Text: "hello all"})
	for _, in := range []string{"", thread} {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: in, Text: "came"})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: in, Text: "lost", Untold: true})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: in, Text: "came too"})
	}
	r.eventually("what came is kept", r.acknowledged) // before anybody looks: that alone makes a conversation, which may have missed something
	// What came has its place by then, too: what was lost would be put in before it.
	r.stored(conversation(general), "user: came", "user: came too")
	r.stored(conversation(general, thread), "user: came", "user: came too")
	old := r.w.Sockets()[0]
	old.Cut()
	r.eventually("another socket", func() bool { all := r.w.Sockets(); return len(all) == 1 && all[0] != old })
	r.w.Say(slacktest.Post{Channel: late, User: ann, Text: "later"})
	r.stored(conversation(general), "user: came", "user: came too", "user: lost")
	r.stored(conversation(general, thread), "user: came", "user: came too", "user: lost")
	r.stored(conversation(late), "user: hello all", "user: later")
	r.answered(late)
}

func TestTheVeryFirstMessageMayFallBetweenTwoSockets(t *testing.T) {
	r, general, ann := town(t, unhelpful(), ok)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "before it was there"})
	r.begin()
	back := r.loseSocket()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "hello"})
	back()
	r.answered(general, "ok")
	r.answered(r.w.DM(ann), "ok")
	r.stored(conversation(general), "user: before it was there", "user: hello", "assistant: ok") // one answer, to both if it had been asked twice
	check.Equal(t, "requests", len(r.Model.Requests()), 2)
}

func TestALongGapIsReadOnceAndInOrder(t *testing.T) {
	r, general, ann := connectedRig(t, unhelpful(), ok)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	r.stored(conversation(general), "user: before")
	r.end()
	const n = 410
	r.w.Burst(n, slacktest.Post{Channel: general, User: ann, Text: "missed"})
	r.w.Fail(slacktest.Fault{Of: "conversations.history", Skip: 2, RetryAfter: time.Second})
	r.w.Fail(slacktest.Fault{Of: "conversations.history", Skip: 3, Status: 500})
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "after"})
	r.stored(conversation(general), slices.Concat([]string{"user: before"}, numbered("user: missed #", n), []string{"user: after"})...)
	pages := len(r.w.Calls("conversations.history"))
	check.That(t, pages <= 3+2+2, "%d pages for %d messages", pages, n)
}

func TestHistoryOfAThread(t *testing.T) {
	r, general, ann := town(t, unhelpful(), ok)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	replies := r.w.Burst(220, slacktest.Post{Channel: general, User: ann, Thread: root, Text: "reply"})
	r.begin()
	name := conversation(general, root)
	newest := check.Must(r.connector.History(t.Context(), name, channel.Look{Before: replies[210], Limit: 100}))(t).Messages
	check.That(t, len(newest) == 100 && newest[0].Text == "reply #111" && newest[99].Text == "reply #210", "before a message: %d messages", len(newest))
	var all []channel.Inbound
	for after, more := replies[0], true; more; {
		page := check.Must(r.connector.History(t.Context(), name, channel.Look{After: after, Limit: 100}))(t)
		after = page.Last
		more = page.More
		all = append(all, page.Messages...)
	}
	check.That(t, len(all) == 219 && all[0].Text == "reply #2" && all[218].Text == "reply #220", "after a message: %d messages", len(all))
	for name, after := range map[string]string{
		conversation("C404"): root, conversation(general, "1700000000.000001"): root, conversation(general): "D1:1", // imported
	} {
		check.Error(t, check.ErrorOf(r.connector.History(t.Context(), name, channel.Look{After: after, Limit: 10})), channel.ErrGone)
	}
	r.w.Fail(slacktest.Fault{Of: "conversations.history", RetryAfter: time.Hour, Times: -1}) // it cannot be read for now
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	check.Error(t, check.ErrorOf(r.connector.History(ctx, conversation(general), channel.Look{After: root, Limit: 10})), context.DeadlineExceeded)
}

// A gap is closed once its page is stored: by then its threads must be noted.
func TestAPageIsNotThereBeforeItsThreadsAreNoted(t *testing.T) {
	r, general, ann := connectedRig(t, unhelpful(), ok)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	r.stored(conversation(general), "user: root")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "reply", Untold: true})
	look := channel.Look{After: tsOf(timeOf(root).Add(-time.Second)), Limit: 10}
	r.Exec("CREATE TRIGGER broken BEFORE UPDATE OF gap ON conversations BEGIN SELECT RAISE(FAIL, 'the disk is broken'); END")
	check.That(t, check.ErrorOf(r.connector.History(t.Context(), conversation(general), look)) != nil, "there is a page")
	r.Exec("DROP TRIGGER broken")
	check.Must(r.connector.History(t.Context(), conversation(general), look))(t)
	r.stored(conversation(general, root), "user: reply")
}

func TestWhatSlackDropsInABusyMinuteIsRead(t *testing.T) {
	r, general, ann := town(t, unhelpful(), ok)
	hushed := r.w.AddChannel("hushed", ann)
	r.tune = func(s *Slack) {
		s.times.dropped = 100 * time.Millisecond
		s.times.list = 50 * time.Millisecond
	}
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	r.stored(conversation(general), "user: before")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "dropped", Untold: true})
	r.w.Say(slacktest.Post{Channel: hushed, User: ann, Text: "dropped where nothing was ever said", Untold: true})
	r.w.Sockets()[0].SendRaw(fmt.Sprintf(`{"type":"events_api","envelope_id":"","payload":{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":%d}}`,
		time.Now().Add(-time.Minute).Unix()))
	r.stored(conversation(general), "user: before", "user: dropped")
	r.stored(conversation(hushed), "user: dropped where nothing was ever said")
	check.Contains(t, "log", r.Log.String(), "events_dropped")
	r.end()
	late := r.w.AddChannel("late", ann)
	r.w.Say(slacktest.Post{Channel: late, User: ann, Text: mention + "hello"})
	r.w.Fail(slacktest.Fault{Of: "users.conversations", Error: "fatal_error", Times: 3}) // channels are listed again until that works
	r.begin()
	r.answered(late, "ok")
	for _, event := range []string{"WARN msg=list_channels_failed", "INFO msg=list_channels_recovered"} {
		r.eventually(event, func() bool { return strings.Count(r.Log.String(), event) == 1 })
	}
}

func TestAGapBeginsBeforeTheNewestMessage(t *testing.T) {
	dropped := time.Unix(1700000000, 0)
	for _, c := range []struct {
		since               time.Time
		newest, first, want string
	}{
		{dropped, "1700000100.000200", "1600000000.000000", "1699999990.000000"},
		{dropped, "1600000100.000200", "1600000000.000000", "1600000090.000200"}, // as always: nothing came since
		{dropped, "1700000100.000200", "1700000050.000000", "1700000050.000000"}, // the bot was not there before
		{time.Now(), "1700000100.000200", "1700000000.000000", "1700000090.000200"},
		{time.Now(), "1700000100.000200", "1700000095.000100", "1700000095.000100"},
		{time.Now(), "1700000100.000200", "1700000100.000200", "1700000100.000200"},
		{time.Now(), "1700000100.000200", "1700000200.000000", "1700000100.000200"}, // what was read back stands behind
		{time.Now(), "1700000100.000200", "D1:1", "1700000090.000200"},              // imported
		{time.Now(), "D1:1", "D1:1", "D1:1"},
		{time.Now(), "12", "1", "12"},
		{time.Now(), "3.5", "1.5", "1.500000"},
		{time.Now(), "3.5", "D1:1", "3.5"},
		{time.Now(), "-3.5", "-5.5", "-3.5"},
		{time.Now(), "1.-5", "1.-7", "1.-5"},
	} {
		check.Equal(t, fmt.Sprintf("the gap behind %s, the first being %s", c.newest, c.first), gapAfter(c.since)(c.newest, c.first), c.want)
	}
}

func TestUnknownChannelsAreReadSinceTheSocketWasLost(t *testing.T) {
	now := time.Now()
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	for i, c := range []struct{ lastRead, firstHello, want time.Time }{
		{want: ago(60)},
		{lastRead: ago(10), want: ago(11)},
		{lastRead: ago(90), want: ago(60)},
		{lastRead: ago(10), firstHello: ago(10), want: ago(10)},
	} {
		b := &backfill{catchUp: time.Hour, lastRead: c.lastRead, firstHello: c.firstHello}
		check.Equal(t, fmt.Sprint("case ", i), b.missedSince(now), c.want)
	}
}

func TestAHistoryInAFormThatIsNotKnown(t *testing.T) {
	o := unhelpful()
	o.Histories = func(message map[string]any) {
		switch text, _ := message["text"].(string); {
		case strings.HasSuffix(text, "question 2"): // an element that is new
			message["blocks"] = []any{map[string]any{"type": "context", "elements": []any{map[string]any{"type": "sparkle"}}}}
		case strings.HasSuffix(text, "question 3"): // a number for a word
			message["attachments"] = []any{map[string]any{"fields": []any{map[string]any{"title": "builds", "value": 5}}}}
		default: // a word for a number
			message["files"] = []any{map[string]any{"id": "F1", "size": "big"}}
		}
	}
	r, general, ann := connectedRig(t, o, answerN)
	r.ask(general, ann, 1)
	for n := range 2 {
		r.end()
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + fmt.Sprint("question ", n+2)})
		r.w.Fail(slacktest.Fault{Of: "users.conversations", RetryAfter: time.Hour, Times: -1}) // what was missed does not wait for it
		r.begin()
		r.awaitAnswers(general, n+2)
	}
}

func TestAnswersNeedNoHistory(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	for _, method := range []string{"conversations.history", "conversations.replies"} {
		r.w.Fail(slacktest.Fault{Of: method, Error: "missing_scope", Times: -1})
	}
	r.ask(general, ann, 1) // it is as young as the process: an earlier one may have started to answer
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "question 2"})
	r.awaitAnswers(general, 2)
}

func TestWhatIsChangedWhileTheBotIsAwayIsReadFromHistory(t *testing.T) {
	o := unhelpful()
	odd := atomic.Value{}
	o.Histories = func(message map[string]any) {
		if message["ts"] == odd.Load() {
			message["ts"] = map[string]any{"not": "a ts"}
		}
	}
	r, general, ann := connectedRig(t, o, ok)
	say := func(thread, text string) string {
		return r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: text})
	}
	root := say("", "root")
	edited := say("", "teh plan")
	gone := say("", "a secret")
	help := say("", "/help")
	last := say("", "last")
	reply := say(root, "teh reply")
	secret := say(root, "a secret")
	r.stored(conversation(general), "user: root", "user: teh plan", "user: a secret", "user: /help", "user: last")
	r.stored(conversation(general, root), "user: teh reply", "user: a secret")
	r.end()
	r.Age()
	r.w.Edit(general, edited, "the plan of <@"+ann+">")
	r.w.Edit(general, reply, "the reply")
	for _, ts := range []string{gone, last, secret, root} { // on the root hangs a thread
		r.w.Delete(general, ts)
	}
	r.begin()
	r.stored(conversation(general), "user: the plan of @ann", "user: /help")
	r.stored(conversation(general, root), "user: the reply")
	page := func() channel.Page {
		return check.Must(r.connector.History(t.Context(), conversation(general), channel.Look{After: "1.000000", Limit: 10}))(t)
	}
	check.EqualAll(t, "what is there", page().There, []string{root, edited, help})
	odd.Store(edited)
	check.That(t, page().There == nil && len(page().Messages) == 1, "a page that cannot be read whole may delete messages: %+v", page())
	r.w.Delete(general, help)
	r.w.Delete(general, edited)
	r.w.Delete(general, reply)
	r.w.Delete(general, root)
	check.That(t, page().There != nil && len(page().There) == 0, "an empty page says %q is there", page().There)
	check.Equal(t, "how often the model was asked", len(r.Model.Requests()), 0)
}
