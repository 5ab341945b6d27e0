// What people say, change and share.

package slack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestOtherMessages(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	bot, stranger := r.w.AddBot("helper"), r.w.AddBot("pingpong")
	r.w.Join(general, bot)
	r.w.Join(general, stranger)
	group := r.w.AddGroupDM(ann, bot)
	r.rules.Access = map[string]channel.Access{Name: {Bots: []string{bot}}}
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
	r.w.React(general, root, ann, "tada")
	emit("me_message", map[string]any{"user": ann, "text": "waves"})
	emit("thread_broadcast", map[string]any{"user": ann, "thread_ts": root, "text": "for all to see"})
	r.w.Say(slacktest.Post{Channel: general, User: bot, Text: "the build is green"}) // which may be heard
	said()
	r.stored(conversation(general, root), "user: for all to see")
	t.Run("also in blocks alone", func(t *testing.T) {
		ts := tsOf(time.Now())
		var blocks any
		check.NoError(t, json.Unmarshal([]byte(`[{"type":"header","text":{"type":"plain_text","text":"Deploy &amp; test"}},
			{"type":"section","text":{"type":"mrkdwn","text":"of <@`+ann+`>"},"fields":[{"type":"plain_text","text":"failed"}]},
			{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"at"},{"type":"text","text":"noon"}]}]},
			{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Retry"}}]}]`), &blocks))
		version := func(blocks any) map[string]any {
			return map[string]any{"type": "message", "subtype": "bot_message", "bot_id": bot, "ts": ts, "username": "ci", "text": "", "blocks": blocks}
		}
		emit("bot_message", version(blocks))
		said("user: Deploy & test\nof @ann failed\nat noon")
		emit("message_changed", map[string]any{"message": version(blocks.([]any)[:1]), "previous_message": version(blocks)})
		said("user: Deploy & test")
	})
	t.Run("an app's preview of a link is no edit", func(*testing.T) {
		version := map[string]any{"type": "message", "user": ann, "ts": r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "see X-1"}), "text": "see X-1"}
		preview := maps.Clone(version)
		preview["attachments"] = []any{map[string]any{"is_app_unfurl": true, "app_unfurl_url": "https://issues.test/X-1", "bot_id": bot, "text": "the door is blue"}}
		emit("message_changed", map[string]any{"message": preview, "previous_message": version})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention})
		r.answered(general, "answer 1")
		said("user: Deploy & test", "user: see X-1", "user: @app", "assistant: answer 1") // nothing but the bot's name
	})
	t.Run("a group needs a mention", func(*testing.T) {
		r.w.Say(slacktest.Post{Channel: group, User: ann, Text: "among us"})
		r.w.Say(slacktest.Post{Channel: group, User: ann, Text: mention + "and you?"})
		r.stored(conversation(group), "user: among us", "user: and you?", "assistant: answer 2")
	})
}

func TestAReplyToTheBotBeginsAThread(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.ask(general, ann, 1)
	answer := r.own(general)[0].TS
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "really?"})
	r.awaitAnswers(general, 2)
	check.Equal(t, "the message is quoted as", r.messages(conversation(general, answer))[0].Quote, `app: "answer 1"`)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: mention + "/stop"})
	r.eventually("it is told", func() bool { return len(r.own(general)) == 3 })
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "among ourselves"})
	said := []string{"user: really?", "assistant: answer 2", "user: among ourselves"}
	r.stored(conversation(general, answer), said...)
	r.end() // after a restart it is still silent there
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: answer, Text: "once more"})
	r.stored(conversation(general, answer), append(said, "user: once more")...)
	r.settled(conversation(general, answer))
	check.Equal(t, "messages of the bot", len(r.own(general)), 3)
}

func TestEditsAndDeletions(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.begin()
	one := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the launch is on Monday"})
	two := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "forget this"})
	name := conversation(general)
	r.stored(name, "user: the launch is on Monday", "user: forget this")

	t.Run("a preview of a link is no edit", func(t *testing.T) {
		r.w.Unfurl(general, one)
		r.w.Edit(general, two, "forget that")
		r.stored(name, "user: the launch is on Monday", "user: forget that")
	})
	t.Run("an edit replaces the text", func(t *testing.T) {
		r.w.Edit(general, one, "the launch is on <!date^1|Friday> &amp; <@"+bob+"> knows")
		r.stored(name, "user: the launch is on Friday & @bob knows", "user: forget that")
	})
	t.Run("a deletion takes it away", func(t *testing.T) {
		r.w.Delete(general, two)
		r.stored(name, "user: the launch is on Friday & @bob knows")
	})
	t.Run("in a thread, and of what a thread hangs on", func(t *testing.T) {
		reply := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: one, Text: "in the thread"})
		r.stored(conversation(general, one), "user: in the thread")
		r.w.Edit(general, reply, "in this thread")
		r.stored(conversation(general, one), "user: in this thread")
		r.w.Delete(general, one)
		r.stored(name)
		r.w.Delete(general, reply)
		r.stored(conversation(general, one))
	})
	t.Run("the bot's own are none", func(t *testing.T) {
		r.ask(general, ann, 1)
		r.w.Edit(general, r.own(general)[0].TS, "tampered with")
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "next"})
		r.stored(name, "user: question 1", "assistant: answer 1", "user: next")
	})
}

// png is a picture of one pixel.
var png, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func TestFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	r.opts.AttachmentTokens, r.opts.Pictures = 1000, true
	general, ann := r.place()
	r.begin()
	ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "look", Files: []slacktest.File{
		{Name: "notes.txt", Mimetype: "text/plain", Content: []byte("the code is 4711")},
		{Name: "dot.png", Mimetype: "image/png", Content: png},
		{Name: "app.bin", Mimetype: "application/octet-stream", Content: []byte{0, 1, 2}},
	}})
	r.awaitAnswers(general, 1)
	got := r.messages(conversation(general))[0].Attachments
	if len(got) != 3 || got[0].Text != "the code is 4711" || got[1].Kind != "image" || got[1].File == 0 || got[2].Name != "app.bin" || got[2].Size != 3 || got[2].Text != "" {
		t.Errorf("%+v", got)
	}
	check.Equal(t, "files were fetched", len(r.w.Calls("files.download")), 2)
	t.Run("an edit of the text keeps them", func(t *testing.T) {
		r.w.Edit(general, ts, "look again")
		r.eventually("it is edited", func() bool { return r.messages(conversation(general))[0].Text == "look again" })
		if got := r.messages(conversation(general))[0].Attachments; got[0].Text != "the code is 4711" || got[1].File == 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("one that is deleted is forgotten", func(t *testing.T) {
		message := func(files ...any) map[string]any {
			return map[string]any{"type": "message", "user": ann, "ts": ts, "text": "look again", "files": files}
		}
		r.w.Emit(map[string]any{
			"type": "message", "subtype": "message_changed", "channel": general, "channel_type": "channel", "ts": tsOf(time.Now()),
			"message": message(map[string]any{"id": "F1", "mode": "tombstone"}), "previous_message": message(map[string]any{"id": "F1", "mode": "hosted"}),
		})
		r.eventually("it is gone", func() bool {
			got := r.messages(conversation(general))[0].Attachments
			return len(got) == 1 && got[0].Text == "" && got[0].Caption == "no longer there"
		})
	})
	t.Run("one that cannot be had is described", func(t *testing.T) {
		r.w.Fail(slacktest.Fault{Method: "files.download", Status: 404, Times: -1})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "and this", Files: []slacktest.File{{Name: "b.txt", Mimetype: "text/plain", Content: []byte("x")}}})
		r.awaitAnswers(general, 2)
		if a := r.messages(conversation(general))[2].Attachments[0]; a.Name != "b.txt" || a.Text != "" {
			t.Errorf("%+v", a)
		}
	})
}

func TestTheTokenGoesToSlackAlone(t *testing.T) {
	t.Parallel()
	leaked := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked <- r.Header.Get("Authorization") }))
	defer other.Close()
	var slack *httptest.Server
	slack = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/file", http.StatusFound)
		case "/home":
			http.Redirect(w, r, slack.URL+"/file", http.StatusFound)
		default:
			fmt.Fprint(w, r.Header.Get("Authorization"))
		}
	}))
	defer slack.Close()
	s := check.Must(New(Options{BotToken: "xoxb-secret", AppToken: "xapp-1", APIBase: slack.URL + "/api/", AttachmentTokens: 100}))(t)
	defer s.api.close()
	for address, want := range map[string]string{
		slack.URL + "/file": "Bearer xoxb-secret", slack.URL + "/home": "Bearer xoxb-secret",
		slack.URL + "/away": "", other.URL + "/file": "", "http://files.slack.com/file": "", "https://slack.com.evil.dev/x": "", "": "",
	} {
		data, err := s.fetch(context.Background(), address, 100)
		check.That(t, string(data) == want && (err == nil) == (want != ""), "%s: got %q, %v", address, data, err)
		check.That(t, err == nil || !strings.Contains(err.Error(), "secret"), "%s: the token is told: %v", address, err)
	}
	select {
	case got := <-leaked:
		check.Equal(t, "another host was shown", got, "")
	default:
	}
}
