// Servers that say no more than Slack's documents promise, and what their histories say after an absence.

package slack

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

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

func TestEventsThatSayLittle(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	name := conversation(general)
	say := func(text string) string { return r.w.Say(slacktest.Post{Channel: general, User: ann, Text: text}) }
	change := func(ts string, at time.Time, fields map[string]any) {
		message := map[string]any{"type": "message", "user": ann, "ts": ts}
		maps.Copy(message, fields)
		r.w.Emit(map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "channel": general, "ts": tsOf(at), "message": message})
	}
	remove := func(ts string) { // which does not say what was there
		r.w.Emit(map[string]any{"type": "message", "subtype": "message_deleted", "hidden": true, "channel": general, "ts": tsOf(time.Now()), "deleted_ts": ts})
	}
	ts := say("on Monday")
	r.stored(name, "user: on Monday")
	second := time.Unix(timeOf(ts).Unix()+1, 0)
	for i, text := range []string{"on Tuesday", "on Friday"} { // edits within one second
		change(ts, second.Add(time.Duration(i+1)*100*time.Millisecond), map[string]any{"text": text, "edited": map[string]any{"user": ann, "ts": tsOf(second)}})
		r.stored(name, "user: "+text)
	}
	ts = say("at noon")
	r.stored(name, "user: on Friday", "user: at noon")
	change(ts, time.Now(), map[string]any{"text": "at nine", "edited": map[string]any{"user": ann, "ts": tsOf(time.Now())}, "blocks": 7}) // a form that is not known
	r.stored(name, "user: on Friday", "user: at nine")
	ts = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "a secret", Untold: true})
	remove(ts) // before it comes
	r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "text": mention + "a secret", "ts": ts})
	root := say("root")
	reply := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "forget this"})
	r.stored(conversation(general, root), "user: forget this")
	remove(reply)
	remove(root)
	r.stored(conversation(general, root))
	r.stored(name, "user: on Friday", "user: at nine")
	id := r.w.Emit(map[string]any{"type": "sky_fell", "channel": general, "severity": 7})
	odd := r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "ts": "1700000000.000100", "text": mention + "odd", "blocks": 7, "attachments": "none"})
	r.w.Sockets()[0].SendRaw(`{"type":"surprise"}`)
	r.w.Sockets()[0].SendRaw(`not even JSON`)
	r.answered(general, "answer 1")
	for _, d := range r.w.Deliveries() {
		unknown := d.EventID == id || d.EventID == odd
		check.That(t, !unknown || !d.Acked.IsZero() && d.Attempt == 0, "attempt %d of %s: acknowledged %v", d.Attempt, d.Payload, !d.Acked.IsZero())
	}
	// A reply to the bot may not say whose message it answers.
	r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "ts": tsOf(time.Now()), "thread_ts": r.own(general)[0].TS, "text": "really?"})
	r.awaitAnswers(general, 2)
	m := map[string]any{"type": "message", "subtype": "something_new", "channel": general, "user": ann, "ts": tsOf(time.Now()), "text": mention + "and?"}
	r.w.Emit(m) // is dropped, but not the mention
	m["type"], m["subtype"] = "app_mention", ""
	r.w.Emit(m)
	r.awaitAnswers(general, 3)
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
	o, odd := unhelpful(), atomic.Value{}
	o.Histories = func(message map[string]any) {
		if message["ts"] == odd.Load() {
			message["ts"] = map[string]any{"not": "a ts"}
		}
	}
	r, general, ann := connectedRig(t, o, ok)
	say := func(thread, text string) string {
		return r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: text})
	}
	root, edited, gone, help, last := say("", "root"), say("", "teh plan"), say("", "a secret"), say("", "/help"), say("", "last")
	reply, secret := say(root, "teh reply"), say(root, "a secret")
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
	check.That(t, page().There == nil && len(page().Said) == 1, "a page that cannot be read whole may delete messages: %+v", page())
	r.w.Delete(general, help)
	r.w.Delete(general, edited)
	r.w.Delete(general, reply)
	r.w.Delete(general, root)
	check.That(t, page().There != nil && len(page().There) == 0, "an empty page says %q is there", page().There)
	check.Equal(t, "how often the model was asked", len(r.Model.Requests()), 0)
}
