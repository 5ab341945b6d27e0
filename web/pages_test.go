package web

import (
	"fmt"
	"io"
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
		check.That(t, status == 200, "%s: %d %s", page, status, text)
		check.Contains(t, "text", text, wants...)
		for _, evil := range []string{"<script>alert", "<img src=x", "<svg onload", " style="} {
			check.That(t, strings.HasPrefix(page, "/static/") || !strings.Contains(text, evil), "%s has %q", page, evil)
		}
	}
	for page, want := range map[string]int{"/nothing": 404, "/c/nobody": 404, "/memories/99": 404, "/memories/x": 404, p + "/summaries/999": 404, "/memories?kind=x": 400, p + "?fragment=summary": 400} {
		if status, text := r.get(page); status != want {
			t.Errorf("%s: %d %s", page, status, text)
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
