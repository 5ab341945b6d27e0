package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"cairn/llm"
)

// The answer may be there before the page of its chat follows events.
func earlyAnswerInBrowser(t *testing.T) {
	began, more, streams := make(chan bool, 1), make(chan bool, 1), make(chan bool)
	r := newRig(t, rigOptions{model: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		began <- true
		select {
		case <-more:
		case <-ctx.Done():
		}
		return said("The gate is green.")
	}})
	proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(r.url)))
	proxy.FlushInterval = -1
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/api/events" {
			select {
			case <-streams:
			case <-req.Context().Done():
			}
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		slow.CloseClientConnections()
		slow.Close()
	})
	b := newBrowser(t, slow.URL)
	r.send("What colour is the gate?")
	<-began
	b.open("/chat/general")
	b.shows("#stop")
	more <- true
	r.idle("web:general")
	close(streams)
	b.sees("#said", "The gate is green.")
	b.until("it is not busy any more", "document.getElementById('stop').hidden")
}

func keyboardInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.say(here, "Hello")
	r.say("terminal:second", "Hello")
	b := newBrowser(t, r.url)
	b.open("/")
	b.sees("#connection", "live")
	link := fmt.Sprintf("main a[href=%q]", pageOf(here))
	b.until("the keyboard is at a link", "(document.querySelector(%q).focus(), true)", link)
	r.say("terminal:second", "Hello again")
	b.until("the list is read again", "document.querySelector('tbody th').textContent === 'terminal:second' && document.querySelector('tbody').textContent.includes('4')")
	b.until("the keyboard is still there", "document.activeElement === document.querySelector(%q)", link)
}

// A page that nobody looks at follows no events.
func hiddenTabInBrowser(t *testing.T) {
	more := make(chan bool, 3)
	r := newRig(t, rigOptions{model: func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
		select {
		case <-more:
		case <-ctx.Done():
		}
		if n > 1 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "no"}
		}
		return said("The gate is **green**.\n\n    <b>never</b>")
	}})
	b := newBrowser(t, r.url)
	look := func(hidden bool) {
		b.until("look", "(Object.defineProperty(document, 'hidden', {configurable: true, value: %v}), document.dispatchEvent(new Event('visibilitychange')), true)", hidden)
	}
	b.open("/chat/general")
	for _, c := range []struct{ question, answer string }{{"What colour is the gate?", "The gate is"}, {"And the wall?", "The model's server refused my request"}} {
		b.keys("#text", c.question)
		b.enter()
		b.sees("#said", c.question)
		b.shows("#stop")
		b.until("part of the answer is shown", "(document.getElementById('writing').hidden = false) === false")
		look(true)
		more <- true
		r.idle("web:general")
		look(false)
		b.sees("#said", c.answer)
		b.until("nothing is being written any more", "document.getElementById('writing').hidden && document.getElementById('stop').hidden")
	}
	b.open("/chat/general")
	b.sees("#said", "The model's server refused my request")
	b.sees("#connection", "live")

	b.keys("#text", "Are you there?")
	b.enter()
	b.shows("#stop")
	b.open("/chat/general") // another tab
	b.shows("#stop")
	more <- true
	b.until("it is not busy any more", "document.getElementById('stop').hidden")
}
