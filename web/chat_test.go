package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
)

func TestChatAPI(t *testing.T) {
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) { return said("Noted <b>well</b>.") }})
	const path = "/api/conversations/web:shop/messages"
	var taken messageTaken
	for range 2 { // the second is the same message
		r.do(202, &taken, "POST", path, `{"id": "one", "text": " I prefer green tea. ", "compaction": {"background_threshold": 0.7}}`)
	}
	check.Equal(t, "the message", taken.ID, "one")
	r.idle("web:shop")
	list := get[messageList](r, path)
	check.Len(t, "messages", list.Messages, 2)
	check.Equal(t, "first message", list.Messages[0].Text, "I prefer green tea.")
	check.Equal(t, "second message", list.Messages[1].Text, "Noted <b>well</b>.")
	for i, c := range [][2]string{{"/context", "messages"}, {"/pause", "I am paused here"}, {"/resume", "answering again"}, {"/recap", "tea"}} {
		r.do(200, &taken, "POST", path, fmt.Sprintf(`{"id": "command %d", "text": %q}`, i, c[0]))
		check.Contains(t, c[0], taken.Answer, c[1])
	}
	for _, c := range []struct {
		name, path, body, says string
		status                 int
	}{
		{"another connector's conversation", "/api/conversations/discord:1%2F2/messages", `{"id": "x", "text": "hello"}`, "web:general", 409},
		{"a strange name", "/api/conversations/web:a%2Fb/messages", `{"id": "x", "text": "hello"}`, "letters, digits", 400},
		{"no text", path, `{"id": "x", "text": " "}`, "text is missing", 400},
		{"no id", path, `{"text": "hello"}`, "needs an id", 400},
		{"an unknown key", path, `{"id": "x", "text": "hello", "colour": 1}`, "colour", 400},
		{"an unknown command", path, `{"id": "x", "text": "/contxt"}`, "context", 422},
		{"a setting that is none", path, `{"id": "x", "text": "hello", "compaction": {"keep": 1}}`, "keep", 422},
		{"a setting of the file", path, `{"id": "x", "text": "hello", "compaction": {"model": "dear"}}`, "settings file only", 422},
		{"a value that can never be", path, `{"id": "x", "text": "hello", "compaction": {"background_threshold": 80}}`, "0.80", 422},
	} {
		check.Contains(t, c.name, r.do(c.status, nil, "POST", c.path, c.body), c.says)
	}
	r.do(200, &list, "GET", path, "")
	check.Len(t, fmt.Sprintf("a rejected message is stored: %+v", list), list.Messages, 2)

	if status, text := r.get("/chat"); status != 303 || text[len(text)-len("/chat/general"):] != "/chat/general" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.get("/chat/general"); status != 200 || !strings.Contains(text, "Nobody has said anything here yet.") {
		t.Errorf("an empty chat: %d %s", status, text)
	}
	status, page := r.get("/chat/shop?fragment=messages")
	check.Equal(t, "status", status, 200)
	check.Contains(t, "page", page, "I prefer green tea.", "Noted &lt;b&gt;well&lt;/b&gt;.")
	status, text := r.get("/chat/shop/suggest?command=settings&typed=keep")
	check.Equal(t, "status", status, 200)
	check.Contains(t, "suggestions", text, "keep_last_n")
}

// What people write during an answer is taken up after it; until then only the inbox has it.
func TestMessageDuringAnAnswerIsShown(t *testing.T) {
	began, more := make(chan bool, 2), make(chan bool, 2)
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) {
		began <- true
		<-more
		return said("Noted.")
	}})
	r.send("What colour is the gate?")
	<-began
	r.send("And the <b>wall</b>?")
	const waits = "waits to be answered"
	_, page := r.get("/chat/general")
	check.Contains(t, "page during the answer", page, waits, "And the &lt;b&gt;wall&lt;/b&gt;?")
	more <- true
	more <- true
	r.idle("web:general")
	_, page = r.get("/chat/general")
	check.Contains(t, "page after it", page, "And the &lt;b&gt;wall&lt;/b&gt;?")
	check.Lacks(t, "page after it", page, waits)
}

func TestReplyIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents()
		w, _, _, _ := e.watch("")
		reply := NewChat(e).Reply("web:general", nil)
		reply.Show("one")
		reply.Show("one two") // too soon
		time.Sleep(showInterval)
		reply.Show("one two three")
		must(reply.Send(t.Context(), channel.Piece{Reply: "reply-1", Text: "one two three."}))
		for _, want := range []string{`"one"`, `"one two three"`, `"one two three."`} {
			got := <-w.events
			check.Equal(t, "event kind", got.Kind, kindReply)
			check.Contains(t, "event data", string(got.Data), want)
		}
		e.unwatch(w)
	})
}

func TestChatNames(t *testing.T) {
	for name, want := range map[string]bool{
		"general": true, "Zürich 2": true, "一": true, "हिंदी": true, "ทั่วไป": true, "\u0301a": false, "a.b_c-d": true, strings.Repeat("é", 64): true,
		"": false, " a": false, ".a": false, "-a": false, "a/b": false, "a\nb": false, "a\xff": false, strings.Repeat("é", 65): false,
	} {
		check.That(t, validChatName.MatchString(name) == want, "%q is valid: %v", name, !want)
	}
}

// Who writes to a paused bot waits for an answer in vain.
func TestPagesSayThatTheBotIsPaused(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.say("web:general", "Hello")
	pages := []string{"/chat/general", "/chat/unused", pageOf("web:general")}
	shows := func(text string, want ...bool) {
		t.Helper()
		for i, page := range pages {
			_, got := r.get(page)
			check.Equal(t, page+" says: "+text, strings.Contains(got, text), want[i])
		}
	}
	shows("it saves messages", false, false, false)
	r.do(200, nil, "POST", at(pane, "/messages"), `{"id": "a", "text": "/pause"}`)
	shows("The bot is paused here: it saves messages, but does not answer them. /resume ends that.", true, false, true)
	r.do(200, nil, "POST", at(pane, "/messages"), `{"id": "b", "text": "/pause everywhere"}`)
	shows("The whole bot is paused: it saves messages, but does not answer them. /resume everywhere ends that.", true, true, true)
}
