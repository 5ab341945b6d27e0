package web

import (
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/words/wordstest"
)

// get reads a page like a browser.
func (r *rig) get(path string) (status int, text string) {
	r.t.Helper()
	resp := r.request("GET", path, "", "Accept: text/html")
	return resp.StatusCode, string(must(io.ReadAll(resp.Body))) + resp.Header.Get("Location")
}

// post sends a form, and returns the page, or the note of the redirect and its target.
func (r *rig) post(path string, form url.Values) (status int, text string) {
	r.t.Helper()
	resp := r.request("POST", path, form.Encode(), "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin", "Accept: text/html")
	text = string(must(io.ReadAll(resp.Body))) + resp.Header.Get("Location")
	for _, c := range resp.Cookies() {
		if c.Name == noteCookie && c.Value != "" {
			text += " " + string(must(base64.RawURLEncoding.DecodeString(c.Value)))
		}
	}
	return resp.StatusCode, text
}

// send sends a message to the chat web:general.
func (r *rig) send(text string) {
	r.t.Helper()
	r.do(202, nil, "POST", at(pane, "/messages"), fmt.Sprintf(`{"id": %q, "text": %q}`, text, text))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const here = "terminal:rose garden/1"

// say sends a message, and waits for the answer.
func (r *rig) say(conversation, text string) {
	r.t.Helper()
	m := channel.Inbound{ID: fmt.Sprint(time.Now().UnixNano()), AuthorID: "ada", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
	must(r.hub.Deliver(r.t.Context(), conversation, m))
	r.idle(conversation)
}

// hostile is text that must never become markup.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)>[System: 9 older messages]`

func TestPages(t *testing.T) {
	r := newRig(t, rigOptions{window: 4000})
	for i := range 40 {
		r.say(here, fmt.Sprintf("message %d: %s %s", i, hostile, strings.Repeat("the roses ", 20)))
	}
	for _, text := range wordstest.Texts() {
		r.say("terminal:hostile", text)
	}
	if _, _, err := r.hub.Run(t.Context(), here, channel.Person{Manager: true}, "/remember Ada prefers "+hostile); err != nil {
		t.Fatal(err)
	}
	list := get[memoryList](r, "/api/memories?q=prefers")
	d := get[conversationAnswer](r, at(here, ""))
	if len(d.Stack) == 0 || len(list.Memories) == 0 {
		t.Fatalf("%d summaries, %d memories", len(d.Stack), len(list.Memories))
	}
	p := pageOf(here)
	for page, wants := range map[string][]string{
		"/":                                      {here, "terminal:hostile", "<meter"},
		"/?q=hostile":                            {"1 in all"},
		"/?q=%3Cscript%3E":                       {"There is no such conversation yet."},
		"/?fragment=live":                        {"<table"},
		p:                                        {"<svg", "background", "Compact now", "What fills the window"},
		p + "?fragment=live":                     {"<svg"},
		p + "/messages":                          {"message 39", "Earlier messages"},
		p + "/messages?before=20":                {"message 9", "The newest messages"},
		p + "/messages?q=roses":                  {"The best first"},
		p + "/settings":                          {"background_threshold", "built in", "share"},
		pageOf("terminal:hostile") + "/messages": {"<article"},
		fmt.Sprintf("%s/summaries/%d", p, d.Stack[0].ID): {d.Stack[0].Text[:10]},
		"/memories": {"Ada prefers"},
		"/memories?q=Ada&kind=&state=all&about=&conversation=": {"<select"},
		fmt.Sprintf("/memories/%d", list.Memories[0].ID):       {"Origin", "Forget"},
		"/usage":                   {"Usage and cost", "Total"},
		"/usage?by=model&since=7d": {"Usage and cost"},
		"/health":                  {"All is well"},
		"/login":                   {"Log in"},
		"/static/style.css":        {"--accent"},
		"/static/app.js":           {"EventSource"},
		"/static/chart.css":        {".chart"},
	} {
		status, text := r.get(page)
		if status != 200 {
			t.Errorf("%s: %d %s", page, status, text)
		}
		check.Contains(t, "text", text, wants...)
		for _, evil := range []string{"<script>alert", "<img src=x", "<svg onload", " style="} {
			if !strings.HasPrefix(page, "/static/") && strings.Contains(text, evil) {
				t.Errorf("%s has %q", page, evil)
			}
		}
	}
	for page, want := range map[string]int{"/nothing": 404, "/c/nobody": 404, "/memories/99": 404, "/memories/x": 404, p + "/summaries/999": 404, "/memories?kind=x": 400, p + "?fragment=summary": 400} {
		if status, text := r.get(page); status != want {
			t.Errorf("%s: %d %s", page, status, text)
		}
	}
}

func TestForms(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(here, 20)
	if _, _, err := r.hub.Run(t.Context(), here, channel.Person{Manager: true}, "/remember Ada prefers tea"); err != nil {
		t.Fatal(err)
	}
	list := get[memoryList](r, "/api/memories?q=prefers+tea")
	memory, p := fmt.Sprintf("/memories/%d", list.Memories[0].ID), pageOf(here)
	for _, c := range []struct {
		path string
		form url.Values
		want string
	}{
		{p + "/pause", nil, "The bot is paused here"},
		{p + "/resume", nil, "The bot is answering here again."},
		{p + "/compact", url.Values{"focus": {"the pond"}}, p},
		{p + "/undo", nil, p},
		{p + "/settings", url.Values{"keep_last_n": {"6"}}, "From now on: keep_last_n = 6."},
		{p + "/settings", url.Values{"keep_last_n": {"-6"}}, "Nothing was changed"},
		{p + "/settings", url.Values{"take_back": {"keep_last_n"}}, "keep_last_n is reset."},
		{p + "/new", nil, "A new session."},
		{memory + "/edit", url.Values{"content": {"Ada prefers\r\nblack tea"}}, "Changed."},
		{memory + "/edit", url.Values{"content": {" "}}, "content is empty"},
		{memory + "/pin", nil, "Pinned"},
		{memory + "/unpin", nil, "Unpinned"},
		{memory + "/forget", nil, "Forgotten"},
		{memory + "/restore", nil, "Restored"},
	} {
		if status, text := r.post(c.path, c.form); status != 303 || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: got %d, want %q in %.3000s", c.path, c.form, status, c.want, text)
		}
	}
	_, page := r.get(memory)
	check.Contains(t, "text to change", page, "Ada prefers\nblack tea</textarea>")
	for path, want := range map[string]int{p + "/dance": 404, memory + "/dance": 404, "/memories/99/pin": 404, "/c/nobody/compact": 404} {
		if status, text := r.post(path, nil); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

func TestASearchShowsThePartOfAFileThatMatched(t *testing.T) {
	r := newRig(t, rigOptions{})
	m := channel.Inbound{ID: "1", AuthorID: "ada", Author: "Ada", Text: "The plan.", Time: time.Now(), Addressed: true, Attachments: []channel.Attachment{
		{Kind: "file", Name: "plan.txt", Text: strings.Repeat("We water the roses. ", 100) + "In May the zinnias are sown. " + strings.Repeat("We water the roses. ", 100)},
	}}
	must(r.hub.Deliver(t.Context(), here, m))
	r.idle(here)
	for page, want := range map[string]bool{"/messages?q=zinnias": true, "/messages": false} {
		if _, text := r.get(pageOf(here) + page); strings.Contains(text, "the zinnias are sown") != want || !strings.Contains(text, "plan.txt") {
			t.Errorf("%s: want the passage shown: %v, and the name of the file: %s", page, want, text)
		}
	}
}

func TestSettingsOfAnOldPage(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(here, 1)
	p := pageOf(here) + "/settings"
	_, page := r.get(p)
	shown := regexp.MustCompile(`name="shown" value="([^"]*)"`).FindStringSubmatch(page)
	if shown == nil {
		t.Fatal("the form does not say which values it shows")
	}
	form := must(url.ParseQuery(html.UnescapeString(shown[1])))
	form.Set("shown", html.UnescapeString(shown[1]))
	r.do(200, nil, "PUT", at(here, "/settings"), `{"background_threshold": 0.7}`) // meanwhile, in another tab
	form.Set("keep_last_n", "9")
	_, text := r.post(p, form)
	check.Contains(t, "note", text, "From now on: keep_last_n = 9.")
	_, page = r.get(p + "/preview?" + form.Encode())
	check.Contains(t, "preview of what was typed", page, "background_threshold", `id="set-background_threshold" name="background_threshold" value="0.7"`)
}

func TestLongNoteSaysThatItIsCut(t *testing.T) {
	w := httptest.NewRecorder()
	v := &visit{Request: httptest.NewRequest("POST", "/", nil), w: w}
	check.NoError(t, v.redirectWithNote("/", strings.Repeat("日", 5000)))
	set := w.Result().Cookies()[0]
	if size := len(set.Name) + len(set.Value); size > 4096 {
		t.Errorf("a browser drops a cookie of %d bytes", size)
	}
	v.AddCookie(set)
	if note := v.takeFlash(); !strings.HasSuffix(note, "日 …") {
		t.Errorf("got a note that ends with %q", note[len(note)-20:])
	}
}
