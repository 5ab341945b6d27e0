// What people say, change and share, and their names.

package slack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestOtherMessages(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	bot := r.w.AddBot("helper")
	stranger := r.w.AddBot("pingpong")
	r.w.Join(general, bot)
	r.w.Join(general, stranger)
	group := r.w.AddGroupDM(ann, bot)
	r.Rules.Access = map[string]access.Access{Name: {Bots: []string{bot}}}
	r.begin()
	emit := func(subtype string, fields map[string]any) {
		event := map[string]any{"type": "message", "subtype": subtype, "channel": general, "channel_type": "channel", "ts": tsOf(time.Now())}
		maps.Copy(event, fields)
		r.w.Emit(event)
	}
	said := func(lines ...string) {
		t.Helper()
		r.stored(conversation(general), append([]string{"user: root", "user: waves", "user: the build is green"}, lines...)...)
	}
	for _, subtype := range []string{"channel_join", "channel_topic", "pinned_item", "channel_name", "something_new", "message_replied"} { // no messages
		emit(subtype, map[string]any{"user": ann, "text": mention + subtype})
	}
	r.w.Say(slacktest.Post{Channel: general, User: stranger, Text: mention + "ping"})
	r.w.Say(slacktest.Post{Channel: general, Text: mention + "from a webhook"})
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	emit("me_message", map[string]any{"user": ann, "text": "waves"})
	emit("thread_broadcast", map[string]any{"user": ann, "thread_ts": root, "text": "for all to see"})
	r.w.Say(slacktest.Post{Channel: general, User: bot, Text: "the build is green"}) // which may be heard
	said()
	r.stored(conversation(general, root), "user: for all to see")
	// Some apps post blocks alone.
	ts := tsOf(time.Now())
	var blocks any
	check.NoError(t, json.Unmarshal([]byte(`[{"type":"header","text":{"type":"plain_text","text":"Deploy &amp; test"}},
		{"type":"section","text":{"type":"mrkdwn","text":"of <@`+ann+`>"},"fields":[{"type":"plain_text","text":"failed"}]},
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"at "},{"type":"text","text":"noon"}]}]},
		{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Retry"}}]}]`), &blocks))
	version := func(blocks any) map[string]any {
		return map[string]any{"type": "message", "subtype": "bot_message", "bot_id": bot, "ts": ts, "username": "ci", "text": "", "blocks": blocks}
	}
	emit("bot_message", version(blocks))
	said("user: Deploy & test\nof @ann\nfailed\nat noon\n[buttons: Retry]")
	emit("message_changed", map[string]any{"message": version(blocks.([]any)[:1]), "previous_message": version(blocks)})
	said("user: Deploy & test")
	// An app's preview of a link is no edit.
	link := map[string]any{"type": "message", "user": ann, "ts": r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "see X-1"}), "text": "see X-1"}
	preview := maps.Clone(link)
	preview["attachments"] = []any{map[string]any{"is_app_unfurl": true, "app_unfurl_url": "https://issues.test/X-1", "bot_id": bot, "text": "the door is blue"}}
	emit("message_changed", map[string]any{"message": preview, "previous_message": link})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention})
	r.answered(general, "answer 1")
	said("user: Deploy & test", "user: see X-1", "user: @app", "assistant: answer 1") // nothing but the bot's name
	r.w.Say(slacktest.Post{Channel: group, User: ann, Text: "among us"})              // a group needs a mention
	r.w.Say(slacktest.Post{Channel: group, User: ann, Text: mention + "and you?"})
	r.stored(conversation(group), "user: among us", "user: and you?", "assistant: answer 2")
}

func TestAReplyToTheBotBeginsAThread(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	r.ask(general, ann, 1)
	answer := r.botMessages(general)[0].TS
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "really?"})
	r.awaitAnswers(general, 2)
	check.Equal(t, "the message is quoted as", r.Transcript(conversation(general, answer))[0].Quote, `app: "answer 1"`)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: mention + "/stop"})
	r.eventually("it is told", func() bool { return len(r.botMessages(general)) == 3 })
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "among ourselves"})
	said := []string{"user: really?", "assistant: answer 2", "user: among ourselves"}
	r.stored(conversation(general, answer), said...)
	r.end() // after a restart it is still silent there
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "once more"})
	r.stored(conversation(general, answer), append(said, "user: once more")...)
	r.Idle(conversation(general, answer))
	check.Equal(t, "messages of the bot", len(r.botMessages(general)), 3)
}

func TestInThreadsItAnswersMentions(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.Rules.Access = map[string]access.Access{"slack": {RespondInThreads: access.RespondMention}}
	r.begin()
	r.ask(general, ann, 1)
	answer := r.botMessages(general)[0].TS
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "really?"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: mention + "really?"})
	r.awaitAnswers(general, 2)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "so it is"})
	r.stored(conversation(general, answer), "user: really?", "user: really?", "assistant: answer 2", "user: so it is")
	r.Idle(conversation(general, answer))
	check.Equal(t, "messages of the bot", len(r.botMessages(general)), 2)
}

func TestEditsAndDeletions(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.begin()
	one := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the launch is on Monday"})
	two := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "forget this"})
	name := conversation(general)
	r.stored(name, "user: the launch is on Monday", "user: forget this")

	r.w.Unfurl(general, one) // a preview of a link is no edit
	r.w.Edit(general, two, "forget that")
	r.stored(name, "user: the launch is on Monday", "user: forget that")
	r.w.Edit(general, one, "the launch is on <!date^1|Friday> &amp; <@"+bob+"> knows")
	r.stored(name, "user: the launch is on Friday & @bob knows", "user: forget that")
	r.w.Delete(general, two)
	r.stored(name, "user: the launch is on Friday & @bob knows")
	reply := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: one, Text: "in the thread"})
	r.stored(conversation(general, one), "user: in the thread")
	r.w.Edit(general, reply, "in this thread")
	r.stored(conversation(general, one), "user: in this thread")
	r.w.Delete(general, one) // which a thread hangs on
	r.stored(name)
	r.w.Delete(general, reply)
	r.stored(conversation(general, one))
	r.ask(general, ann, 1)
	r.w.Edit(general, r.botMessages(general)[0].TS, "tampered with") // the bot's own messages are none
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "next"})
	r.stored(name, "user: question 1", "assistant: answer 1", "user: next")
}

// Slack sends events in any order, and a long gap is read before its pages are stored.
func TestAChangeMayComeBeforeItsMessage(t *testing.T) {
	r, general, ann := connectedRig(t, unhelpful(), answerN)
	said := r.w.Burst(4, slacktest.Post{Channel: general, User: ann, Text: "line", Untold: true})
	page := func(after string, limit int) channel.Page {
		return check.Must(r.connector.History(t.Context(), conversation(general), channel.Look{After: after, Limit: limit}))(t)
	}
	first := page(tsOf(timeOf(said[0]).Add(-time.Second)), 1)
	r.w.Edit(general, said[1], "edited")
	for _, of := range []string{"3", "1"} { // in which second Slack sent it
		edit := map[string]any{"type": "message", "user": ann, "ts": said[3], "text": "edit " + of, "edited": map[string]any{"ts": "2000000000.000000"}}
		r.w.Emit(map[string]any{"type": "message", "subtype": "message_changed", "channel": general, "ts": "2000000000.00000" + of, "message": edit})
	}
	r.w.Delete(general, said[2])
	r.eventually("the changes are known", r.acknowledged)
	rest := page(first.Last, 10).Messages
	check.That(t, len(rest) == 2 && rest[0].Text == "edited" && rest[1].Text == "edit 3", "what is left of the gap: %+v", rest)
	for i, ts := range said {
		r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "ts": ts, "text": fmt.Sprint("line #", i+1)})
	}
	r.stored(conversation(general), "user: line #1", "user: edited", "user: edit 3")
}

var png, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func TestFiles(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.opts.AttachmentTokens = 1000
	r.opts.Pictures = true
	r.begin()
	ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "look", Files: []slacktest.File{
		{Name: "notes.txt", Mimetype: "text/plain", Content: []byte("the code is 4711")},
		{Name: "dot.png", Mimetype: "image/png", Content: png},
		{Name: "app.bin", Mimetype: "application/octet-stream", Content: []byte{0, 1, 2}},
	}})
	r.awaitAnswers(general, 1)
	attached := func(message int) []chat.Attachment { return r.Transcript(conversation(general))[message].Attachments }
	got := attached(0)
	check.Len(t, "files", got, 3)
	check.That(t, got[0].Text == "the code is 4711" && got[1].Kind == "image" && got[1].File != 0, "what is read: %+v", got)
	check.That(t, got[2].Name == "app.bin" && got[2].Size == 3 && got[2].Text == "", "what is described: %+v", got[2])
	check.Equal(t, "files were fetched", len(r.w.Calls("files.download")), 2)
	r.w.Edit(general, ts, "look again") // keeps them
	r.eventually("it is edited", func() bool { return r.Transcript(conversation(general))[0].Text == "look again" })
	got = attached(0)
	check.That(t, got[0].Text == "the code is 4711" && got[1].File != 0, "after an edit: %+v", got)
	version := func(mode string) map[string]any {
		return map[string]any{"type": "message", "user": ann, "ts": ts, "text": "look again", "files": []any{map[string]any{"id": "F1", "mode": mode}}}
	}
	r.w.Emit(map[string]any{
		"type": "message", "subtype": "message_changed", "channel": general, "channel_type": "channel", "ts": tsOf(time.Now()),
		"message": version("tombstone"), "previous_message": version("hosted"),
	})
	r.eventually("one that is deleted is forgotten", func() bool {
		got := attached(0)
		return len(got) == 1 && got[0].Text == "" && got[0].Caption == "no longer there"
	})
	r.w.Fail(slacktest.Fault{Of: "files.download", Status: 404, Times: -1})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "and this", Files: []slacktest.File{{Name: "b.txt", Mimetype: "text/plain", Content: []byte("x")}}})
	r.awaitAnswers(general, 2)
	a := attached(2)[0]
	check.That(t, a.Name == "b.txt" && a.Text == "", "one that cannot be had: %+v", a)
}

func TestTheTokenGoesToSlackAlone(t *testing.T) {
	shown := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Authorization")) }
	other := httptest.NewServer(http.HandlerFunc(shown))
	defer other.Close()
	mux := http.NewServeMux()
	slack := httptest.NewServer(mux)
	defer slack.Close()
	mux.HandleFunc("/file", shown)
	mux.Handle("/home", http.RedirectHandler(slack.URL+"/file", http.StatusFound))
	mux.Handle("/away", http.RedirectHandler(other.URL+"/file", http.StatusFound))
	s := check.Must(New(Options{BotToken: "xoxb-secret", AppToken: "xapp-1", APIBase: slack.URL + "/api/", AttachmentTokens: 100}))(t)
	defer s.api.http.CloseIdleConnections()
	for address, want := range map[string]string{
		slack.URL + "/file": "Bearer xoxb-secret", slack.URL + "/home": "Bearer xoxb-secret",
		slack.URL + "/away": "", other.URL + "/file": "", "http://files.slack.com/file": "", "https://slack.com.evil.dev/x": "", "": "",
	} {
		data, err := s.api.fetch(context.Background(), address)
		check.That(t, string(data) == want && (err == nil) == (want != ""), "%s: got %q, %v", address, data, err)
		check.Lacks(t, "the error", fmt.Sprint(err), "secret")
	}
}

func TestNamesThatCannotBeLookedUp(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, answerN)
	r.tune = func(s *Slack) { s.times.complete = 300 * time.Millisecond }
	r.begin()
	for i, fault := range []slacktest.Fault{{Delay: time.Minute}, {Error: "user_not_found"}, {Error: "missing_scope"}} {
		r.w.Clear()
		fault.Of = "users.info"
		fault.Times = -1
		r.w.Fail(fault)
		r.w.Fail(slacktest.Fault{Of: "users.list", Times: -1, Error: "missing_scope"})
		general, ann := r.place()
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "ask <@U9> in <#" + general + ">"})
		r.answered(general, fmt.Sprint("answer ", i+1))
		m := r.Transcript(conversation(general))[0]
		check.Equal(t, "author", m.Author, ann)
		check.HasPrefix(t, "text", m.Text, "ask @U9 in #")
	}
}

func TestConversationsAreListedByTheirNames(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	r.ask(general, ann, 1)
	board := r.w.AddPrivateChannel("board", ann) // whose name is not known yet, though ann's is
	r.w.Say(slacktest.Post{Channel: board, User: ann, Text: "hello"})
	bob := r.w.AddUser("bob")
	r.w.Say(slacktest.Post{Channel: r.w.DM(bob), User: bob, Text: "hello"})
	want := []string{"#board · slacktest", "#general · slacktest", "bob"}
	r.eventually("the names", func() bool {
		all := fmt.Sprint(r.Store.Places(t.Context(), "", 10, 0))
		missing := func(name string) bool { return !strings.Contains(all, " "+name+" 0 ") }
		return strings.HasSuffix(all, " 3 <nil>") && !slices.ContainsFunc(want, missing)
	})
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
	unknown := slices.DeleteFunc(r.w.Deliveries(), func(d slacktest.Delivery) bool { return d.EventID != id && d.EventID != odd })
	check.Len(t, "deliveries of events in unknown forms", unknown, 2)
	for _, d := range unknown {
		check.That(t, !d.Acked.IsZero() && d.Attempt == 0, "attempt %d of %s: acknowledged %v", d.Attempt, d.Payload, !d.Acked.IsZero())
	}
	// A reply to the bot may not say whose message it answers.
	r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "ts": tsOf(time.Now()), "thread_ts": r.botMessages(general)[0].TS, "text": "really?"})
	r.awaitAnswers(general, 2)
	m := map[string]any{"type": "message", "subtype": "something_new", "channel": general, "user": ann, "ts": tsOf(time.Now()), "text": mention + "and?"}
	r.w.Emit(m) // is dropped, but not the mention
	m["type"] = "app_mention"
	m["subtype"] = ""
	r.w.Emit(m)
	r.awaitAnswers(general, 3)
}
