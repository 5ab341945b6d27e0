package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel/report"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

const list = "/api/conversations"

// deadlines records until when the server may write.
type deadlines struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.until = at
	return nil
}

func TestStreamMayBeginLateAndEachWriteIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		router := newRouter(&gate{}, nil, "", nil)
		router.streams = t.Context()
		router.stream("GET /slow", func(w http.ResponseWriter, _ *http.Request) error {
			time.Sleep(10 * writeTimeout)
			return check.ErrorOf(io.WriteString(w, "late"))
		})
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		router.guarded().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/slow", nil).WithContext(t.Context()))
		check.Equal(t, "answer", w.Body.String(), "late")
		check.Equal(t, "time to write the answer", time.Until(w.until), writeTimeout)
	})
}

func TestAccess(t *testing.T) {
	r := newRig(t, rigOptions{token: "correct-horse-battery", hosts: []string{"Cairn.example."}})
	bearer := "Authorization: Bearer correct-horse-battery"
	private := []string{"/api/events", list, "/metrics", "/debug/pprof/"}
	for _, path := range private[1:] { // all but the stream, which does not end
		r.do(200, nil, "GET "+path, "", bearer)
	}
	for name, header := range map[string]string{
		"none":                "X-None: 1",
		"wrong":               "Authorization: Bearer wrong",
		"empty":               "Authorization: Bearer ",
		"of another scheme":   "Authorization: Basic Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5",
		"of another key":      "Cookie: cairn_session=" + newAuth("other").session(time.Now().Add(time.Hour)),
		"of an ended session": "Cookie: cairn_session=" + r.server.router.gate.auth.session(time.Now().Add(-time.Hour)),
	} {
		for _, path := range private {
			resp := r.request("GET", path, "", header)
			refused := resp.StatusCode == 401 && resp.Header.Get("WWW-Authenticate") != ""
			check.That(t, refused, "%s, a token that is %s: %s", path, name, resp.Status)
		}
	}
	r.do(200, nil, "GET /healthz", "")
	r.do(200, nil, "GET /readyz", "")
	r.do(400, nil, "GET "+list+"?token=correct-horse-battery", "")
	r.do(200, nil, "GET "+list, "", bearer, "Host: cairn.EXAMPLE:8090") // the settings have it
}

func TestLogin(t *testing.T) {
	r := newRig(t, rigOptions{token: "correct-horse-battery"})
	const origin = "Sec-Fetch-Site: same-origin"
	login := func(token, next string, headers ...string) (*http.Response, *http.Cookie) {
		t.Helper()
		headers = append(headers, origin, "Content-Type: application/x-www-form-urlencoded")
		resp := r.request("POST", "/login", url.Values{"token": {token}, "next": {next}}.Encode(), headers...)
		return resp, append(resp.Cookies(), &http.Cookie{})[0]
	}
	resp := r.request("GET", "/?q=1", "", "Accept: text/html")
	check.Equal(t, "without a session", resp.Status+resp.Header.Get("Location"), "303 See Other/login?next=%2F%3Fq%3D1")
	check.Contains(t, "the login", r.page(200, "/login?next=%2F%3Fq%3D1"), "Log in", "/?q=1")

	resp, cookie := login("correct-horse-battery", "/?q=1")
	check.Equal(t, "after the login", resp.Status+resp.Header.Get("Location"), "303 See Other/?q=1")
	check.That(t, cookie.HttpOnly && cookie.SameSite == http.SameSiteStrictMode && !cookie.Secure, "%+v", cookie)
	session := "Cookie: " + cookie.Name + "=" + cookie.Value
	r.do(200, nil, "GET "+list, "", session)
	r.do(401, nil, "GET /?fragment=live", "", "Accept: text/html") // a part of a page is never the login
	r.do(200, nil, "GET /?fragment=live", "", "Accept: text/html", session)
	for _, from := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.example", "Origin: null"} {
		r.do(403, nil, "POST "+at("terminal:x", "/undo"), "", session, from)
	}
	r.do(403, nil, "GET "+list, "", session, "Sec-Fetch-Site: cross-site")
	for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "/\n/evil.example", "evil", ""} {
		resp, _ := login("correct-horse-battery", next)
		check.Equal(t, "target instead of "+next, resp.Header.Get("Location"), "/")
	}
	_, cookie = login("correct-horse-battery", "/", "X-Forwarded-Proto: https")
	check.That(t, cookie.Secure, "behind https: %+v", cookie)
	check.That(t, r.request("POST", "/logout", "", origin, session).Cookies()[0].MaxAge < 0, "the cookie is kept")

	r.limits().guesses.SetLimit(0)
	for range guessBurst {
		resp, _ := login("guess", "/")
		check.Equal(t, "a wrong token", resp.StatusCode, 401)
	}
	resp, _ = login("guess", "/")
	check.Equal(t, "status after wrong tokens", resp.StatusCode, 429)
	resp = r.request("GET", list, "", "Authorization: Bearer guess")
	check.That(t, resp.StatusCode == 429 && resp.Header.Get("Retry-After") != "", "%s %v", resp.Status, resp.Header)
	resp, _ = login("correct-horse-battery", "/")
	check.Equal(t, "the right token after wrong ones", resp.StatusCode, 303)
	r.do(200, nil, "GET "+list, "", "Authorization: Bearer correct-horse-battery")
	r.do(200, nil, "GET "+list, "", session)
}

func TestClientBehindProxies(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	g := &gate{proxies: networks}
	for _, c := range []struct{ end, forwarded, want string }{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9"}, // the client's own header
		{"10.0.0.5:1", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.5:1", "192.0.2.7, 198.51.100.1, 10.0.0.6", "198.51.100.1"}, // two proxies; the client wrote the first
		{"10.0.0.5:1", "", "10.0.0.5"},
		{"10.0.0.5:1", "198.51.100.1, unknown", "10.0.0.5"},
		{"[::ffff:10.0.0.5]:1", "2001:db8::1", "2001:db8::1"},
		{"[::1]:1", "::ffff:198.51.100.1", "198.51.100.1"},
	} {
		r := &http.Request{RemoteAddr: c.end, Header: http.Header{"X-Forwarded-For": {c.forwarded}}}
		check.Equal(t, c.end+" for "+c.forwarded, g.clientOf(r).String(), c.want)
	}
}

func TestGuard(t *testing.T) {
	r := newRig(t, rigOptions{})
	for _, host := range []string{"evil.example", "evil.example:8090", "localhost.evil.example", "127.0.0.1.evil.example"} {
		r.do(421, nil, "GET "+list, "", "Host: "+host)
		r.do(421, nil, "GET /healthz", "", "Host: "+host)
	}
	for _, host := range []string{"localhost", "LOCALHOST.:80", "127.0.0.1:8090", "[::1]:8090"} {
		r.do(200, nil, "GET "+list, "", "Host: "+host)
	}
	undo := at("terminal:x", "/undo")
	r.do(403, nil, "POST "+undo, "", "Origin: http://evil.example")
	r.do(403, nil, "POST "+undo, "", "Sec-Fetch-Site: cross-site")
	r.do(404, nil, "POST "+undo, "", "Origin: "+r.url)
	r.do(404, nil, "POST "+undo, "")
	r.talk("terminal:x", 1)
	r.do(413, nil, "POST "+at("terminal:x", "/compact"), `{"focus": "`+strings.Repeat("x", maxBody)+`"}`)
	r.do(415, nil, "POST "+at("terminal:x", "/compact"), `{}`, "Content-Type: text/plain")
	for _, path := range []string{list, "/login", "/api/nothing"} {
		h := r.request("GET", path, "").Header
		csp := h.Get("Content-Security-Policy")
		check.That(t, strings.Contains(csp, "default-src 'none'") && !strings.Contains(csp, "unsafe"), "%s: %s", path, csp)
		check.That(t, h.Get("X-Frame-Options") == "DENY" && h.Get("Cache-Control") == "no-store", "%s: %v", path, h)
	}
	r.server.router.handle("GET /panics", func(http.ResponseWriter, *http.Request) error { panic("no") })
	check.Lacks(t, "answer after a panic", r.do(500, nil, "GET /panics", ""), "panic")
	requests := r.limits().requests
	requests.SetLimit(0)
	requests.AllowN(time.Now(), int(requests.Tokens())-1)
	r.do(200, nil, "GET /healthz", "")
	r.do(429, nil, "GET /healthz", "")
}

// limits returns the limits of the rig's client. Without a rate they allow a burst, however slow the machine is.
func (r *rig) limits() client {
	return r.server.router.gate.limits.of(netip.MustParseAddr("127.0.0.1"))
}

func FuzzLocalPath(f *testing.F) {
	for _, next := range []string{"/", "//x", "/\\x", "https://x", "/a?b=c#d", "/\t/x", "\x00"} {
		f.Add(next)
	}
	f.Fuzz(func(t *testing.T, next string) {
		base := &url.URL{Scheme: "http", Host: "localhost"}
		to, err := base.Parse(localPath(next))
		check.That(t, err == nil && to.Host == "localhost" && to.Scheme == "http", "%q: got target %v, %v", next, to, err)
	})
}

func TestProblemIsAPage(t *testing.T) {
	r := newRig(t, rigOptions{})
	for path, says := range map[string]string{
		"/c/terminal:nope":          "404 There is no conversation &#34;terminal:nope&#34;.",
		"/c/web:nope/summaries/1":   "404 There is no conversation",
		"/c/terminal:nope/messages": "404 There is no conversation &#34;terminal:nope&#34;.",
		"/memories/999":             "404 There is nothing with that name or number.",
		"/memories?kind=foo":        "400 kind = &#34;foo&#34;: must be one of",
		"/memories?colour=red":      "400 There is no parameter &#34;colour&#34; here: correct its name, or leave it out.",
		"/nothing":                  "404 There is nothing at this path.",
		"/memories/x":               "404 ",
	} {
		text := r.page(must(strconv.Atoi(says[:3])), path)
		check.Contains(t, path, text, says[4:], "Skip to the content", `<a href="/">Conversations</a>`)
		check.Lacks(t, path, text, "GET /api/", `"detail"`)
	}
	r.page(400, "/usage?fragment=live")
	text := r.do(404, nil, "GET "+at("terminal:nope", ""), "", "Accept: text/html")
	check.Contains(t, "problem of the API", text, `"status":404`, "There is no conversation")
}

func TestWhoseMistakeItIs(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 1)
	const variant = `{"conversation": "terminal:garden", "variants": [{"settings": `
	chat := at(pane, "/messages")
	compact := at(garden, "/compact")
	settings := at(garden, "/settings")
	for _, c := range [][3]string{
		{chat, `[1]`, "400 a value of type array is not accepted"},
		{chat, `{"id": "1", "text": 3}`, `400 a value of type number is not accepted for \"text\"`},
		{chat, `{"id": "1", "text": "hello", "colour": 1}`, `400 unknown field \"colour\"`},
		{chat, `{"id": "1"`, "400 unexpected EOF"},
		{chat, `{"id": "1"} {}`, "400 there is text after the object"},
		{chat, `{"id": "1", "text": " "}`, "400 text is missing"},
		{chat, `{"text": "hello"}`, "400 needs an id"},
		{chat, `{"id": "cairn:task-1", "text": "hello"}`, `400 does not begin with \"cairn:\"`}, // the result of a task would be lost
		{chat, "{\"id\": \"\xff\", \"text\": \"hello\"}", "400 valid UTF-8"},                    // one with "\xfe" would be lost
		{chat, `{"id": "1", "text": "/contxt"}`, "422 context"},
		{chat, `{"id": "1", "text": "hello", "compaction": {"keep": 1}}`, "422 keep"},
		{chat, `{"id": "1", "text": "hello", "compaction": {"model": "dear"}}`, "422 settings file only"},
		{chat, `{"id": "1", "text": "hello", "compaction": {"background_threshold": 80}}`, "422 0.80"},
		{at("web:a/b", "/messages"), `{"id": "1", "text": "hello"}`, "400 letters, digits"},
		{chat, `{"id": "1", "text": "hello", "author": "Ada"}`, "400 conversations of terminals"},
		{at("discord:1/2", "/messages"), `{"id": "1", "text": "hello"}`, "409 web:general"}, // another connector's
		{at(garden, "/messages"), `{"id": "1", "text": " "}`, "422 text is missing"},
		{at(garden, "/messages"), `{"text": "hello"}`, "400 needs an id"},
		{at(garden, "/messages"), `{"id": "cairn:task-1", "text": "hello"}`, `422 must not begin with \"cairn:\"`},
		{at(garden, "/messages"), `{"id": "1", "text": "hello", "author": "task:1"}`, "422 task:"},
		{at(garden, "/messages"), `{"id": "1", "text": "hello", "time": "today"}`, "422 2026-01-31T15:04:05Z"},
		{at(garden, "/messages"), `{"id": "1", "text": "/contxt"}`, "422 /context"},
		{at("terminal:", "/messages"), `{"id": "1", "text": "hello"}`, "422 is empty"},
		{at("terminal:a\x01b", "/messages"), `{"id": "1", "text": "hello"}`, "422 cannot be shown"},
		{at(garden, "/commands"), `{"text": "hello", "author": "Ada"}`, "422 must be a command"},
		{at("discord:1/2", "/commands"), `{"text": "/context", "author": "Ada"}`, "409 conversations of terminals"},
		{compact, `{"keep_last_n": 1.5}`, `400 a value of type number 1.5 is not accepted for \"keep_last_n\"`},
		{compact, `{"keep_last_n": -1}`, "422 from 0 to 500"},
		{compact, `{"compaction": {"target_percentage": 5}}`, "422 target_percentage"},
		{compact, `{"compaction": {"prompt_file": "/etc/passwd"}}`, "422 prompt_file"},
		{compact, `{"focus": "` + strings.Repeat("ж", maxFocus+1) + `"}`, "422 at most 1000 characters"},
		{settings, `{"keep_first": 3, "background_threshold": 7}`, "422 background_threshold"}, // keep_first is not set either
		{settings, `{"keep_frist": 3}`, "422 keep_first"},
		{settings, `{"model": "gpt"}`, "422 model"}, // only the settings file has it
		{settings, `{"keep_first": [1]}`, "422 keep_first"},
		{settings, `{}`, "422 "},
		{simulatePath, `{"variants": [{"settings": true}]}`, "400 a value of type bool is not accepted"},
		{simulatePath, variant + `{"background_treshold": 1}}]}`, "422 did you mean background_threshold"},
		{simulatePath, variant + `{"background_threshold": 5}}]}`, "422 background_threshold"},
		{simulatePath, variant + `{"keep_first": null}}]}`, "422 keep_first: must be a number"},
		{simulatePath, `{"variants": [` + strings.Repeat(`{},`, maxVariants) + `{}]}`, "422 at most 8"},
		{simulatePath, `{"conversation": "terminal:nowhere"}`, "404 terminal:nowhere"},
		{simulatePath, `{"conversation":`, "400 "},
		{"/api/memories", `{"conversation": "terminal:garden", "content": "Ada prefers tea", "kind": "gossip"}`, "422 gossip"},
	} {
		path := c[0]
		body := c[1]
		says := c[2]
		text := r.do(must(strconv.Atoi(says[:3])), nil, map[bool]string{true: "PUT ", false: "POST "}[path == settings]+path, body)
		check.Contains(t, body, text, says[4:])
		check.Lacks(t, body, text, "Go ", "web.", "unmarshal", "struct")
	}
	all := get[settingsAnswer](r, settings).Settings
	check.That(t, !slices.ContainsFunc(all, func(s report.Setting) bool { return s.Here }), "set: %+v", all)
	r.do(404, nil, "GET "+at(pane, ""), "") // no message was stored

	// A client whose connection breaks is no incident of the bot, and a database that refuses is no mistake of the client.
	conn := must(net.Dial("tcp", strings.TrimPrefix(r.url, "http://")))
	defer conn.Close()
	must(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\nzz\r\n", chat))
	check.Equal(t, "status", must(http.ReadResponse(bufio.NewReader(conn), nil)).StatusCode, 400)
	gone, cancel := context.WithCancel(t.Context()) // whoever asked for a page has gone to another one
	cancel()
	r.server.router.mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", pageOf(garden), nil).WithContext(gone))
	check.Len(t, "incidents", r.events.incidents(), 0)
	storetest.Run(t, r.store, "CREATE TRIGGER refuse BEFORE INSERT ON memories BEGIN SELECT RAISE (ABORT, 'secret'); END")
	text := r.do(500, nil, "POST /api/memories", `{"conversation": "terminal:garden", "content": "Ada prefers green tea"}`)
	check.Lacks(t, "problem", text, "secret")
}
