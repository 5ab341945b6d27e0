package web

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/store"
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
		s := &Server{mux: http.NewServeMux(), streams: t.Context(), hosts: allowedHosts(Options{})}
		s.stream("GET /slow", func(w http.ResponseWriter, _ *http.Request) error {
			time.Sleep(10 * writeTimeout)
			return answer(w, http.StatusOK, "late")
		})
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		s.guarded(s.mux).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/slow", nil).WithContext(t.Context()))
		check.Contains(t, "answer", w.Body.String(), "late")
		check.Equal(t, "time to write the answer", time.Until(w.until), writeTimeout)
	})
}

func TestAccess(t *testing.T) {
	r := newRig(t, rigOptions{token: "correct-horse-battery", hosts: []string{"Cairn.example."}})
	bearer := "Authorization: Bearer correct-horse-battery"
	t.Run("the token opens everything", func(t *testing.T) {
		r.do(200, nil, "GET", list, "", bearer)
		r.do(200, nil, "GET", "/metrics", "", bearer)
		r.do(200, nil, "GET", "/debug/pprof/", "", bearer)
	})
	for name, header := range map[string]string{
		"none": "X-None: 1", "a wrong one": "Authorization: Bearer wrong", "an empty one": "Authorization: Bearer ",
		"another scheme": "Authorization: Basic Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "a session of another key": "Cookie: cairn_session=" + newAuth("other").session(time.Now().Add(time.Hour)),
		"a session that ended": "Cookie: cairn_session=" + r.server.auth.session(time.Now().Add(-time.Hour)),
	} {
		t.Run("not "+name, func(t *testing.T) {
			defer r.forgetGuesses()
			for _, path := range []string{list, "/api/events", "/api/openapi.json", "/metrics", "/debug/pprof/", "/"} {
				resp := r.request("GET", path, "", header)
				check.That(t, resp.StatusCode == 401 && resp.Header.Get("WWW-Authenticate") != "", "%s: %s", path, resp.Status)
			}
		})
	}
	t.Run("the probes are open", func(t *testing.T) {
		r.do(200, nil, "GET", "/healthz", "")
		r.do(200, nil, "GET", "/readyz", "")
	})
	t.Run("a token in a URL is refused", func(t *testing.T) {
		r.do(400, nil, "GET", list+"?token=correct-horse-battery", "")
	})
	t.Run("a name is good that the settings have", func(t *testing.T) {
		r.do(200, nil, "GET", list, "", bearer, "Host: cairn.EXAMPLE:8090")
	})
}

func TestLogin(t *testing.T) {
	r := newRig(t, rigOptions{token: "correct-horse-battery"})
	form := func(values url.Values, headers ...string) *http.Response {
		t.Helper()
		headers = append(headers, "Content-Type: application/x-www-form-urlencoded")
		return r.request("POST", "/login", values.Encode(), headers...)
	}
	origin := "Sec-Fetch-Site: same-origin"
	resp := r.request("GET", "/?q=1", "", "Accept: text/html")
	check.Equal(t, "status code", resp.StatusCode, 303)
	check.Equal(t, "Location", resp.Header.Get("Location"), "/login?next=%2F%3Fq%3D1")
	r.do(200, nil, "GET", "/login?next=%2F%3Fq%3D1", "")

	resp = form(url.Values{"token": {"correct-horse-battery"}, "next": {"/?q=1"}}, origin)
	cookies := resp.Cookies()
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/?q=1" || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Secure {
		t.Fatal(resp.Status, resp.Header)
	}
	session := "Cookie: " + cookies[0].Name + "=" + cookies[0].Value
	r.do(200, nil, "GET", list, "", session)
	t.Run("a part of a page is never the login", func(t *testing.T) {
		r.do(401, nil, "GET", "/?fragment=live", "", "Accept: text/html")
		r.do(200, nil, "GET", "/?fragment=live", "", "Accept: text/html", session)
	})
	t.Run("a page of another site cannot use the session", func(t *testing.T) {
		for _, from := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.example", "Origin: null"} {
			r.do(403, nil, "POST", at("terminal:x", "/undo"), "", session, from)
		}
		r.do(403, nil, "GET", list, "", session, "Sec-Fetch-Site: cross-site")
	})
	t.Run("the redirect stays on this site", func(t *testing.T) {
		for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "/\n/evil.example", "evil", ""} {
			resp := form(url.Values{"token": {"correct-horse-battery"}, "next": {next}}, origin)
			check.Equal(t, "target", resp.Header.Get("Location"), "/")
		}
	})
	t.Run("https marks the session as secure", func(t *testing.T) {
		resp := form(url.Values{"token": {"correct-horse-battery"}}, origin, "X-Forwarded-Proto: https")
		if c := resp.Cookies(); len(c) != 1 || !c[0].Secure {
			t.Error(resp.Header)
		}
	})
	t.Run("logging out ends it", func(t *testing.T) {
		resp := r.request("POST", "/logout", "", origin, session)
		if c := resp.Cookies(); len(c) != 1 || c[0].MaxAge >= 0 {
			t.Error(resp.Header)
		}
	})
	t.Run("wrong tokens are delayed", func(t *testing.T) {
		for range guessBurst {
			if resp := form(url.Values{"token": {"guess"}}, origin); resp.StatusCode != 401 {
				t.Fatal(resp.Status)
			}
		}
		resp := form(url.Values{"token": {"correct-horse-battery"}}, origin)
		check.Equal(t, "status code", resp.StatusCode, 429)
		if resp := r.request("GET", list, "", "Authorization: Bearer correct-horse-battery"); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
			t.Error(resp.Status, resp.Header)
		}
		r.do(200, nil, "GET", list, "", session)
	})
}

func TestGuard(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Run("another name cannot lead here", func(t *testing.T) {
		for _, host := range []string{"evil.example", "evil.example:8090", "localhost.evil.example", "127.0.0.1.evil.example"} {
			r.do(421, nil, "GET", list, "", "Host: "+host)
			r.do(421, nil, "GET", "/healthz", "", "Host: "+host)
		}
		for _, host := range []string{"localhost", "LOCALHOST.:80", "127.0.0.1:8090", "[::1]:8090"} {
			r.do(200, nil, "GET", list, "", "Host: "+host)
		}
	})
	t.Run("another site cannot write", func(t *testing.T) {
		r.do(403, nil, "POST", at("terminal:x", "/undo"), "", "Origin: http://evil.example")
		r.do(403, nil, "POST", at("terminal:x", "/undo"), "", "Sec-Fetch-Site: cross-site")
		r.do(404, nil, "POST", at("terminal:x", "/undo"), "", "Origin: "+r.url)
		r.do(404, nil, "POST", at("terminal:x", "/undo"), "")
	})
	t.Run("a body is bounded, and JSON", func(t *testing.T) {
		r.talk("terminal:x", 1)
		r.do(413, nil, "POST", at("terminal:x", "/compact"), `{"focus": "`+strings.Repeat("x", maxBody)+`"}`)
		r.do(422, nil, "POST", at("terminal:x", "/compact"), `{"focus": "`+strings.Repeat("ж", maxFocus+1)+`"}`)
		r.do(422, nil, "POST", at("terminal:x", "/compact"), `{"keep_last_n": -1}`)
		r.do(415, nil, "POST", at("terminal:x", "/compact"), `{}`, "Content-Type: text/plain")
	})
	t.Run("every answer forbids what a page does not need", func(t *testing.T) {
		for _, path := range []string{list, "/login", "/api/nothing"} {
			h := r.request("GET", path, "").Header
			if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || h.Get("X-Frame-Options") != "DENY" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", path, h)
			}
		}
	})
	t.Run("a panic is a problem", func(t *testing.T) {
		r.server.handle("GET /panics", func(http.ResponseWriter, *http.Request) error { panic("no") })
		check.Lacks(t, "answer after a panic", r.do(500, nil, "GET", "/panics", ""), "panic")
	})
	t.Run("requests are rate-limited", func(t *testing.T) {
		for n := 0; ; n++ {
			resp := r.request("GET", "/healthz", "")
			if resp.StatusCode == 429 {
				break
			}
			check.Require(t, n <= 20*requestBurst, "it was not stopped")
		}
	})
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

func TestWindowsInTheListAreMeasuredAtTheStart(t *testing.T) {
	r := newRig(t, rigOptions{})
	past := store.Inbound{ID: "1", AuthorID: "ada", Author: "Ada", Time: time.Now(), Text: "The roses are red."}
	must(must(r.store.Conversation(t.Context(), "discord:1/2")).Past().Import(t.Context(), []store.Inbound{past}))
	o := r.server.o
	o.Listener = must(net.Listen("tcp", "127.0.0.1:0"))
	next := New(o)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- next.Run(ctx, r.hub) }()
	measured := check.Soon(func() bool {
		next.fills.mu.Lock()
		defer next.fills.mu.Unlock()
		return len(next.fills.known) == 1
	})
	stop()
	check.NoError(t, <-ended)
	check.That(t, measured, "the first page of the list has to wait until all of its windows are measured")
}
