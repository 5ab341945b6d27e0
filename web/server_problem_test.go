package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

// frameText is on every page.
const frameText = "Skip to the content"

func TestProblemIsAPage(t *testing.T) {
	r := newRig(t, rigOptions{})
	for _, c := range []struct {
		path   string
		status int
		says   []string
	}{
		{"/c/terminal:nope", 404, []string{"There is no conversation &#34;terminal:nope&#34;.", `<a href="/">Conversations</a>`}},
		{"/c/terminal:nope/messages", 404, []string{"There is no conversation &#34;terminal:nope&#34;."}},
		{"/memories/999", 404, []string{"There is nothing with that name or number.", `<a href="/memories">Memories</a>`}},
		{"/memories?kind=foo", 400, []string{"kind = &#34;foo&#34;: must be one of", `<a href="/memories">Memories</a>`}},
		{"/memories?colour=red", 400, []string{"There is no parameter &#34;colour&#34; here: correct its name, or leave it out."}},
		{"/nothing", 404, []string{"There is no such page."}},
	} {
		status, text := r.get(c.path)
		check.Equal(t, c.path+": status", status, c.status)
		check.Contains(t, c.path, text, append(c.says, frameText, "<h1>")...)
		check.Lacks(t, c.path, text, "GET /api/", `"detail"`)
	}
	t.Run("of a form", func(t *testing.T) {
		status, text := r.post("/chat/general", url.Values{"id": {"z"}, "text": {"/nope"}})
		check.Equal(t, "status", status, 422)
		check.Contains(t, "page", text, frameText, "There is no command /nope", `<a href="/chat/general">`)
	})
	t.Run("of a script", func(t *testing.T) {
		form := url.Values{"id": {"z"}, "text": {"/nope"}}.Encode()
		resp := r.request("POST", "/chat/general", form, "Accept: application/json", "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin")
		check.Equal(t, "Content-Type", resp.Header.Get("Content-Type"), "application/problem+json")
	})
	t.Run("of the API", func(t *testing.T) {
		text := r.do(404, nil, "GET", at("terminal:nope", ""), "", "Accept: text/html")
		check.Contains(t, "problem", text, `"status":404`, "There is no conversation")
	})
}

func TestFormWithoutASessionLeadsToTheLogin(t *testing.T) {
	r := newRig(t, rigOptions{token: "correct-horse-battery"})
	status, text := r.post("/chat/general", url.Values{"id": {"1"}, "text": {"hello"}})
	check.Equal(t, "status", status, 401)
	check.Contains(t, "page", text, frameText, "You are not logged in", `<a href="/login">Log in</a>`)
	check.Lacks(t, "page", text, "Bearer")
}

func TestBadBodySaysWhatIsExpectedOfWhichField(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	messages, compact := at("web:general", "/messages"), at("terminal:garden", "/compact")
	for _, c := range []struct{ path, body, says string }{
		{messages, `[1]`, "The body must be an object, not a value of type array."},
		{messages, `{"id": "1", "text": 3}`, "text: a value of type number is not accepted"},
		{messages, `{"colour": "red"}`, `There is no key \"colour\" here`},
		{messages, `{"id": "1"`, "The body ends too early."},
		{messages, `{"id": "1"} {}`, "there is text after the object"},
		{compact, `{"keep_last_n": 1.5}`, "keep_last_n: a value of type number 1.5 is not accepted"},
		{"/api/simulate", `{"variants": [{"settings": true}]}`, "variants.settings: a value of type bool is not accepted"},
	} {
		text := r.do(400, nil, "POST", c.path, c.body)
		check.Contains(t, c.body, text, c.says)
		check.Lacks(t, c.body, text, "Go ", "web.", "unmarshal", "struct")
	}
	check.Contains(t, "body of PUT", r.do(400, nil, "PUT", at("terminal:garden", "/settings"), `[]`), "The body must be an object, not a value of type array.")
}

// A client whose connection breaks is no incident of the bot.
func TestBodyThatBreaksOffIsAMistakeOfTheClient(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	for _, path := range []string{at("web:general", "/messages"), at("terminal:garden", "/pause")} {
		conn := must(net.Dial("tcp", strings.TrimPrefix(r.url, "http://")))
		t.Cleanup(func() { conn.Close() })
		must(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\nzz\r\n", path))
		resp := must(http.ReadResponse(bufio.NewReader(conn), nil))
		check.Contains(t, path, string(must(io.ReadAll(resp.Body))), "The body did not arrive whole")
		check.Equal(t, path, resp.StatusCode, 400)
	}
	check.Len(t, "incidents", r.events.incidents(), 0)
}

func TestBodyThatIsNotExpectedIsRefused(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden = "terminal:garden"
	r.talk(garden, 1)
	for _, body := range []string{"x", `{"focus": "tulips"}`, "[]", `"x"`} {
		text := r.do(400, nil, "POST", at(garden, "/pause"), body, "Content-Type: text/plain")
		check.Contains(t, body, text, "takes no body")
	}
	check.Equal(t, "paused", get[conversationAnswer](r, at(garden, "")).Silent, false)
	for _, body := range []string{"", "{}", " {}\n"} {
		r.do(200, nil, "POST", at(garden, "/pause"), body)
	}
	resp := r.request("POST", at(garden, "/undo"), "x", "Content-Type: application/x-www-form-urlencoded")
	check.Equal(t, "status of undo", resp.StatusCode, 400)
	check.Contains(t, "problem", string(must(io.ReadAll(resp.Body))), "takes no body")
}

func TestRefusingDatabaseIsNoMistakeOfTheClient(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	check.NoError(t, r.store.Update(t.Context(), func(tx *store.Tx) error {
		return check.ErrorOf(tx.Exec("CREATE TRIGGER refuse BEFORE INSERT ON memories BEGIN SELECT RAISE (ABORT, 'secret'); END"))
	}))
	const one = `{"conversation": "terminal:garden", "content": "Ada prefers green tea"}`
	check.Lacks(t, "problem", r.do(500, nil, "POST", "/api/memories", one), "secret")
	r.do(422, nil, "POST", "/api/memories", `{"conversation": "terminal:garden", "content": "Ada prefers tea", "about": "Zoe"}`)
}
