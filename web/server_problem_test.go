package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
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
		{"/memories/999", 404, []string{"There is nothing with that name or number.", `<a href="/">Conversations</a>`}},
		{"/memories?kind=foo", 400, []string{"kind = &#34;foo&#34;: must be one of", `<a href="/">Conversations</a>`}},
		{"/memories?colour=red", 400, []string{"There is no parameter &#34;colour&#34; here: correct its name, or leave it out."}},
		{"/nothing", 404, []string{"There is nothing at this path."}},
	} {
		status, text := r.get(c.path)
		check.Equal(t, c.path+": status", status, c.status)
		check.Contains(t, c.path, text, append(c.says, frameText, "<h1>")...)
		check.Lacks(t, c.path, text, "GET /api/", `"detail"`)
	}
	t.Run("of the API", func(t *testing.T) {
		text := r.do(404, nil, "GET", at("terminal:nope", ""), "", "Accept: text/html")
		check.Contains(t, "problem", text, `"status":404`, "There is no conversation")
	})
}

func TestBadBodySaysWhatIsExpectedOfWhichField(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	messages, compact := at("web:general", "/messages"), at("terminal:garden", "/compact")
	for _, c := range []struct{ path, body, says string }{
		{messages, `[1]`, "a value of type array is not accepted"},
		{messages, `{"id": "1", "text": 3}`, `a value of type number is not accepted for \"text\"`},
		{messages, `{"colour": "red"}`, `unknown field \"colour\"`},
		{messages, `{"id": "1"`, "unexpected EOF"},
		{messages, `{"id": "1"} {}`, "there is text after the object"},
		{compact, `{"keep_last_n": 1.5}`, `a value of type number 1.5 is not accepted for \"keep_last_n\"`},
		{"/api/simulate", `{"variants": [{"settings": true}]}`, "a value of type bool is not accepted"},
	} {
		text := r.do(400, nil, "POST", c.path, c.body)
		check.Contains(t, c.body, text, c.says)
		check.Lacks(t, c.body, text, "Go ", "web.", "unmarshal", "struct")
	}
}

// A client whose connection breaks is no incident of the bot.
func TestBodyThatBreaksOffIsAMistakeOfTheClient(t *testing.T) {
	r := newRig(t, rigOptions{})
	conn := must(net.Dial("tcp", strings.TrimPrefix(r.url, "http://")))
	t.Cleanup(func() { conn.Close() })
	must(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\nzz\r\n", at("web:general", "/messages")))
	check.Equal(t, "status", must(http.ReadResponse(bufio.NewReader(conn), nil)).StatusCode, 400)
	check.Len(t, "incidents", r.events.incidents(), 0)
}

func TestRefusingDatabaseIsNoMistakeOfTheClient(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	check.NoError(t, r.store.Update(t.Context(), func(tx *store.Tx) error {
		return check.ErrorOf(tx.Exec("CREATE TRIGGER refuse BEFORE INSERT ON memories BEGIN SELECT RAISE (ABORT, 'secret'); END"))
	}))
	const one = `{"conversation": "terminal:garden", "content": "Ada prefers green tea"}`
	check.Lacks(t, "problem", r.do(500, nil, "POST", "/api/memories", one), "secret")
	r.do(422, nil, "POST", "/api/memories", `{"conversation": "terminal:garden", "content": "Ada prefers tea", "kind": "gossip"}`)
}
