package web

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
)

// watching reads a stream of events, for at most a minute.
type watching struct{ *bufio.Scanner }

// watch reads the stream from now on, or from the event in the header Last-Event-ID on.
func (r *rig) watch(query string, headers ...string) watching {
	r.t.Helper()
	resp := r.request("GET", "/api/events"+query, "", headers...)
	check.Require(r.t, resp.StatusCode == 200, "%s", resp.Status)
	time.AfterFunc(time.Minute, func() { resp.Body.Close() })
	w := watching{bufio.NewScanner(resp.Body)}
	w.until(r.t, "retry: ")
	return w
}

// until returns the first line with a text in it.
func (w watching) until(t *testing.T, text string) string {
	t.Helper()
	var seen []string
	for w.Scan() {
		if strings.Contains(w.Text(), text) {
			return w.Text()
		}
		seen = append(seen, w.Text())
	}
	t.Fatalf("the stream ended without %q: %q", text, seen)
	return ""
}

func TestEvents(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("")
	r.talk(garden, 1)
	w.until(t, `"state":"started"`)
	check.Contains(t, "event", w.until(t, `"state":"answered"`), `"conversation":"terminal:garden"`, `"turn":1`)
	r.remember("The gate opens at noon")
	w.until(t, `"change":"saved"`)
	r.do(200, nil, "PATCH /api/memories/1", `{"state": "forgotten"}`)
	w.until(t, `"change":"forgotten"`)
	log := slog.New(r.events.Logged(slog.DiscardHandler)).With("conversation", garden)
	log.Info("of_no_concern")
	r.events.Mask = func(_ []string, a slog.Attr) slog.Attr {
		return slog.String(a.Key, strings.ReplaceAll(a.Value.String(), "hush", "[masked]"))
	}
	log.Warn("database_check_failed", "what", "cannot be read hush")
	check.Contains(t, "event", w.until(t, "data: "), `"database_check_failed"`, `"what":"cannot be read [masked]"`, `"level":"warn"`)
	log.Info("database_recovered")
	w.until(t, `"database_recovered"`)
	check.Contains(t, "the page of incidents", r.page(200, "/health"), "database_check_failed")

	one := r.watch("?conversation=terminal:other&kinds=turn") // only what is asked for
	r.talk(garden, 1)
	r.talk("terminal:other", 1)
	check.Contains(t, "event", one.until(t, "data: "), "terminal:other")
	refused := r.do(400, nil, "GET /api/events?kinds=turn,foo", "")
	check.Contains(t, "problem", refused, "foo", "turn, usage, compaction, memory, task, incident")
}

func TestWatcherResumes(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("")
	w.until(t, "id: ") // where the stream begins
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 1})
	id := strings.TrimPrefix(w.until(t, "id: "), "id: ")
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 2, Content: "a secret"})
	r.events.Task(channel.Task{Number: 3, Text: "a secret"})
	check.Contains(t, "events that are watched", w.until(t, `"id":2`)+w.until(t, `"number":3`), `"content":"a secret"`, `"text":"a secret"`)
	resumed := r.watch("", "Last-Event-ID: "+id)
	missed := resumed.until(t, "data: ")
	check.Contains(t, "event after the last seen", missed, `"id":2`)
	check.Lacks(t, "missed events, whose memory and task may have been deleted", missed+resumed.until(t, `"number":3`), "secret")

	readsAnew := func(what, last string) {
		t.Helper()
		again := r.watch("", "Last-Event-ID: "+last)
		again.until(t, "event: "+kindReset)
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 77})
		check.Contains(t, "after an id "+what, again.until(t, `"id":`), `"id":77`)
	}
	readsAnew("of another process", "other-1")
	readsAnew("of the future", id+"0")
	readsAnew("of nothing", "x")
	for n := range keptEvents + 5 {
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n)})
	}
	readsAnew("too old", id)
}

func TestWatchersAreLimited(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.watch("")
	watched := func() bool {
		r.events.mu.Lock()
		defer r.events.mu.Unlock()
		return len(r.events.watchers) > 0
	}
	large := strings.Repeat("x", 64<<10)
	for n := 0; watched(); n++ {
		check.Require(t, n != 5000, "a reader that does not read is kept")
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n), Content: large}) // and never blocks
	}

	for n := range maxWatchers + 1 {
		check.Equal(t, fmt.Sprintf("watcher %d is accepted", n+1), r.events.watch("", "") != nil, n < maxWatchers)
	}
}

func FuzzLastEventID(f *testing.F) {
	e := NewEvents()
	for n := range keptEvents + 10 {
		e.publish(kindMemory, "", memoryEvent{ID: int64(n)})
	}
	for _, id := range []string{fmt.Sprint(e.last), fmt.Sprint(e.last - 5), "1", "-5", fmt.Sprint(1 << 62)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		w := e.watch(id, "")
		e.unwatch(w)
		n := len(w)
		for one := range w {
			check.That(t, one.kind != kindReset || n == 1, "%q: got a reset among %d events", id, n)
		}
	})
}

func TestChatAPI(t *testing.T) {
	r := newRig(t, rigOptions{says: "Noted <b>well</b>."})
	const path = "/api/conversations/web:shop/messages"
	var taken messageTaken
	for range 2 { // the second is the same message
		r.do(202, &taken, "POST "+path, `{"id": "one", "text": " I prefer green tea. ", "compaction": {"background_threshold": 0.7}}`)
	}
	check.Equal(t, "the message", taken.ID, "one")
	r.idle("web:shop")
	for i, c := range [][2]string{{"/context", "messages"}, {"/pause", "I am paused here"}, {"/resume", "answering again"}, {"/recap", "tea"}} {
		r.do(200, &taken, "POST "+path, fmt.Sprintf(`{"id": "command %d", "text": %q}`, i, c[0]))
		check.Contains(t, c[0], taken.Answer, c[1])
	}
	list := get[messageList](r, path).Messages
	check.Len(t, "messages", list, 2)
	check.Equal(t, "messages", list[0].Text+" "+list[1].Text, "I prefer green tea. Noted <b>well</b>.")

	check.HasPrefix(t, "the chat", r.request("GET", "/chat", "").Header.Get("Location"), "/chat/general")
	for _, path := range []string{"/chat/general", pageOf(pane), pageOf(pane) + "/messages", pageOf(pane) + "/settings"} {
		check.Contains(t, path+" of an empty chat", r.page(200, path), "There are no messages here yet.", "Overview")
	}
	check.Contains(t, "memories of an empty chat", r.page(200, "/memories?conversation="+pane), "No memories match.")
	check.Contains(t, "page", r.page(200, "/chat/shop?fragment=messages"), "I prefer green tea.", "Noted &lt;b&gt;well&lt;/b&gt;.")
	check.Contains(t, "suggestions", r.page(200, "/chat/shop/suggest?command=settings&typed=keep"), "keep_last_n")
}

// What people write during an answer is taken up after it; until then only the inbox has it.
func TestMessageDuringAnAnswerIsShown(t *testing.T) {
	began := make(chan bool, 2)
	more := make(chan bool, 2)
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) {
		began <- true
		<-more
		return said("Noted.")
	}})
	r.send("What colour is the gate?")
	<-began
	r.send("And the <b>wall</b>?")
	const waits = "waiting for an answer"
	check.Contains(t, "page during the answer", r.page(200, "/chat/general"), waits, "And the &lt;b&gt;wall&lt;/b&gt;?")
	more <- true
	more <- true
	r.idle(pane)
	page := r.page(200, "/chat/general")
	check.Contains(t, "page after it", page, "And the &lt;b&gt;wall&lt;/b&gt;?")
	check.Lacks(t, "page after it", page, waits)
}

func TestReplyIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents()
		w := e.watch("", "")
		defer e.unwatch(w)
		reply := NewChat(e).Reply(pane, nil)
		reply.Show("one")
		reply.Show("one two") // too soon
		time.Sleep(showInterval)
		reply.Show("one two three")
		check.Contains(t, "as a page shows it", partialHTML("one **two** <b>\n\n```go\nfunc"), "<strong>two</strong> &lt;b&gt;", "func")
		must(reply.Send(t.Context(), channel.Piece{Reply: "reply-1", Text: "one two three."}))
		for _, want := range []string{`"one"`, `"one two three"`, `"one two three."`} {
			got := <-w
			check.Equal(t, "event kind", got.kind, kindReply)
			check.Contains(t, "event data", string(got.json), want)
		}
	})
}

func TestChatNames(t *testing.T) {
	for name, want := range map[string]bool{
		"general": true, "Zürich 2": true, "一": true, "हिंदी": true, "ทั่วไป": true, "\u0301a": false, "a.b_c-d": true, strings.Repeat("é", 64): true,
		"": false, " a": false, ".a": false, "-a": false, "a/b": false, "a\nb": false, "a\xff": false, strings.Repeat("é", 65): false,
	} {
		check.Equal(t, name+" is valid", validChatName().MatchString(name), want)
	}
}

// Who writes to a paused bot waits for an answer in vain.
func TestPagesSayThatTheBotIsPaused(t *testing.T) {
	const everywhere = "The whole bot is paused: it saves messages, but does not answer them. /resume everywhere ends the pause."
	r := newRig(t, rigOptions{})
	r.say(pane, "Hello")
	for _, c := range []struct{ command, says, unused string }{
		{"/resume", "", ""},
		{"/pause", "The bot is paused here: it saves messages, but does not answer them. /resume ends the pause.", ""},
		{"/pause everywhere", everywhere, everywhere},
	} {
		r.do(200, nil, "POST "+at(pane, "/messages"), fmt.Sprintf(`{"id": %q, "text": %q}`, c.command, c.command))
		for page, says := range map[string]string{"/chat/general": c.says, pageOf(pane): c.says, "/chat/unused": c.unused} {
			text := r.page(200, page)
			check.Contains(t, page, text, says)
			check.That(t, says != "" || !strings.Contains(text, "it saves messages"), "%s after %s: %s", page, c.command, text)
		}
	}
}

func TestApprovals(t *testing.T) {
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r := newRig(t, rigOptions{tools: box, model: channeltest.Add})
	ask := func(text string) channel.Approval {
		r.send(text)
		check.Require(t, check.Soon(func() bool { return len(r.hub.Operator().Approvals(pane)) > 0 }), "got no pending call")
		return r.hub.Operator().Approvals(pane)[0]
	}
	waits := ask("please add")
	pending := get[conversationAnswer](r, at(pane, "")).Approvals
	check.Len(t, "pending calls", pending, 1)
	check.That(t, pending[0].Code == waits.Code && pending[0].Tool == "calc_add", "got %+v", pending)
	check.Lacks(t, "arguments", pending[0].Arguments, "a1B2a1B2")
	for _, page := range []string{pageOf(pane), "/chat/general", "/tools"} {
		check.Contains(t, page, r.page(200, page), "The model wants to call <b>calc_add</b>")
	}
	tools := get[toolList](r, "/api/tools")
	check.That(t, len(tools.Waiting) == 1 && tools.Waiting[0].Conversation == pane && tools.Waiting[0].Code == waits.Code, "waiting: got %+v", tools.Waiting)
	check.That(t, len(tools.Servers) == 1 && tools.Servers[0].Tools[0].Name == "calc_add" && tools.Servers[0].Tools[0].Approve == "always", "servers: got %+v", tools.Servers)
	answer := at(pane, "/approvals/"+waits.Code)
	r.do(404, nil, "POST "+at(pane, "/approvals/other"), `{"allow":true}`)
	r.do(422, nil, "POST "+answer, `{}`)
	r.do(200, nil, "POST "+answer, `{"allow":true}`)
	r.idle(pane)
	check.Len(t, "calls", box.Called(), 1)
	r.do(404, nil, "POST "+answer, `{"allow":true}`)

	waits = ask("please add again")
	r.do(200, nil, "POST "+at(pane, "/approvals/"+waits.Code), `{"allow":false}`)
	r.idle(pane)
	check.Len(t, "calls", box.Called(), 1)
	page := r.page(200, "/chat/general")
	check.Lacks(t, "page", page, "wants to call")
	check.Contains(t, "page", page, "did not allow this call")
}
