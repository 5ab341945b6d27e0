package web

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
)

func TestChat(t *testing.T) {
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) { return said("Noted <b>well</b>.") }})
	if status, text := r.get("/chat"); status != 303 || text[len(text)-len("/chat/general"):] != "/chat/general" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.get("/chat/general"); status != 200 || !strings.Contains(text, "Nobody has said anything here yet.") {
		t.Errorf("an empty chat: %d %s", status, text)
	}
	for range 2 { // the page is sent twice
		if status, text := r.post("/chat/general", url.Values{"id": {"one"}, "text": {"I prefer green tea."}}); status != 303 {
			t.Fatalf("%d %s", status, text)
		}
	}
	r.idle("web:general")
	status, text := r.get("/chat/general?fragment=messages")
	check.Equal(t, "status", status, 200)
	check.Equal(t, "copies of the message on the page", strings.Count(text, "I prefer green tea."), 1)
	check.Contains(t, "text", text, "Noted &lt;b&gt;well&lt;/b&gt;.")
	for text, want := range map[string]string{
		"/context":  "messages",
		"//context": "",
		"/pause":    "I am paused here",
		"/resume":   "answering again",
		"/recap":    "tea",
	} {
		status, got := r.post("/chat/general", url.Values{"id": {"id" + text}, "text": {text}})
		check.Equal(t, text, status, 303)
		check.Contains(t, text+": got", got, want)
	}
	for name, c := range map[string]struct {
		path string
		form url.Values
		want int
	}{
		"an unknown command": {"/chat/general", url.Values{"id": {"x"}, "text": {"/contxt"}}, 422},
		"nothing":            {"/chat/general", url.Values{"id": {"x"}, "text": {"  "}}, 400},
		"no id":              {"/chat/general", url.Values{"text": {"hello"}}, 400},
		"a strange name":     {"/chat/" + url.PathEscape("a/b"), url.Values{"id": {"x"}, "text": {"hello"}}, 400},
	} {
		if status, text := r.post(c.path, c.form); status != c.want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text := r.get("/chat/general/suggest?command=settings&typed=keep"); status != 200 || !strings.Contains(text, "keep_last_n") {
		t.Errorf("%d %s", status, text)
	}
}

// What people write during an answer is taken up after it; until then only the inbox has it.
func TestMessageDuringAnAnswerIsShown(t *testing.T) {
	began, more := make(chan bool, 2), make(chan bool, 2)
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) {
		began <- true
		<-more
		return said("Noted.")
	}})
	r.post("/chat/general", url.Values{"id": {"1"}, "text": {"What colour is the gate?"}})
	<-began
	r.post("/chat/general", url.Values{"id": {"2"}, "text": {"And the <b>wall</b>?"}})
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
		if validChatName.MatchString(name) != want {
			t.Errorf("%q is valid: %v", name, !want)
		}
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
	shows("is paused", false, false, false)
	r.post("/chat/general", url.Values{"id": {"a"}, "text": {"/pause"}})
	shows("The bot is paused here: it saves messages, but does not answer them. /resume ends that.", true, false, true)
	r.post("/chat/general", url.Values{"id": {"b"}, "text": {"/pause everywhere"}})
	shows("The whole bot is paused: it saves messages, but does not answer them. /resume everywhere ends that.", true, true, true)
}
