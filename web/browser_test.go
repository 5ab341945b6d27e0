package web

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/store"
	"cairn/words/wordstest"
)

// hostileRig returns a rig with a conversation of summaries, memories and text that tries to run as
// code.
func hostileRig(t *testing.T) *rig {
	r := newRig(t, rigOptions{model: thinksForLong})
	r.talk(here, 30)
	for i, text := range append(wordstest.Texts(), hostile) {
		r.say(here, text)
		if i%20 == 0 {
			r.say("terminal:"+hostile, text)
		}
	}
	for _, fact := range []string{"Ada prefers " + hostile, "Ada prefers green tea"} {
		if _, _, err := r.hub.Run(t.Context(), here, channel.Person{Manager: true}, "/remember "+fact); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// thinksForLong is a model that answers, unless it is asked to think for long.
func thinksForLong(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	if last := req.Messages[len(req.Messages)-1].Text; strings.Contains(last, "think for long") {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	}
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: fmt.Sprintf("Answer %d <b>in bold</b>.", n)}, FinishReason: llm.FinishStop}, nil
}

// settled waits until no repair replaces a summary, which would remove its page.
func settled(r *rig) conversationAnswer {
	var d conversationAnswer
	for same := 0; same < 10; time.Sleep(100 * time.Millisecond) {
		before := d.Stack
		d = conversationAnswer{}
		r.do(200, &d, "GET", at(here, ""), "")
		if d.Running == "" && len(d.Stack) > 0 && slices.EqualFunc(d.Stack, before, func(a, b channel.StackEntry) bool { return a.ID == b.ID }) {
			same++
		} else {
			same = 0
		}
	}
	return d
}

// pagesInBrowser opens and audits every page.
func pagesInBrowser(t *testing.T, r *rig, b *browser) {
	d := settled(r)
	memories := get[memoryList](r, "/api/memories")
	check.Require(t, len(d.Stack) != 0 && len(memories.Memories) != 0, "got an empty page")
	p := pageOf(here)
	paths := map[string]string{
		"GET /{$}":                     "/",
		"GET /c/{name}":                p,
		"GET /c/{name}/messages":       p + "/messages",
		"GET /c/{name}/summaries/{id}": fmt.Sprintf("%s/summaries/%d", p, d.Stack[0].ID),
		"GET /c/{name}/settings":       p + "/settings",
		"GET /memories":                "/memories",
		"GET /memories/{id}":           fmt.Sprintf("/memories/%d", memories.Memories[0].ID),
		"GET /usage":                   "/usage",
		"GET /health":                  "/health",
	}
	for pattern := range pageTable() {
		if strings.HasPrefix(pattern, "GET") && !strings.HasPrefix(pattern, "GET /chat") && paths[pattern] == "" { // the chat is below
			t.Errorf("%s did not open", pattern)
		}
	}
	paths["hostile"] = pageOf("terminal:" + hostile)
	paths["hostile messages"] = pageOf("terminal:"+hostile) + "/messages"
	paths["search"] = p + "/messages?q=" + url.QueryEscape(hostile)
	paths["chat"] = "/chat/general"
	records, err := r.store.Find(t.Context(), "terminal:"+hostile)
	if err == nil {
		_, err = records.Tasks().Begin(t.Context(), store.NewTask{Task: store.Task{Agent: "researcher", Text: hostile}, Message: hostile, Most: 4})
	}
	check.NoError(t, err)
	for name, path := range paths {
		b.open(path)
		b.audited(strings.Trim(strings.NewReplacer("GET ", "", "{", "", "}", "", "$", "list", "/", "_").Replace(name), "_"))
	}
}

func clicksInBrowser(t *testing.T) {
	check.SkipUnderRace(t)
	r := hostileRig(t)
	b := newBrowser(t, r.url)
	pagesInBrowser(t, r, b)
	p := pageOf(here)
	b.open("/")
	b.click(fmt.Sprintf(`a[href="%s"]`, p))
	b.click(".stack summary")
	b.shows(".stack .message, .stack .entry .entry")

	fill := "document.querySelector('.card').textContent"
	before := evaluate[string](b, fill)
	r.say(here, strings.Repeat("The pond needs a pump and a filter. ", 60))
	b.until("the bar follows", "%s !== %q", fill, before)
	b.shows(".stack details[open]")

	b.keys("input[name=focus]", "the pond")
	b.click(`form[data-api$="/compact"] button`)
	b.sees(".flash", "summarized")
	r.idle(here)
	b.submits(`form[data-api$="/pause"] button`, "paused here")
	b.submits(`form[data-api$="/resume"] button`, "answering here again")
	r.do(200, nil, "POST", at(here, "/pause"), "") // as in another tab
	r.say(here, "Hello")
	b.submits(`form[data-api$="/resume"] button`, "answering here again")

	b.open(p + "/settings")
	b.until("move a slider", "(s => (s.value = '0.6', s.dispatchEvent(new Event('input', {bubbles: true}))))(document.getElementById('set-background_threshold'))")
	b.sees("#preview thead", "background_threshold=0.6")
	b.shows("#preview svg")
	b.submits(`.apply button:not(#try)`, "The settings are changed.")
	b.submits(`button[value=background_threshold]`, "The settings are changed.")
	b.until("it is reset", "document.getElementById('set-background_threshold').value === '0.8'")

	b.open("/memories?q=tea")
	b.click(".memories a")
	b.submits(`form[data-body*="true"] button`, "Pinned")
	b.until("change the text", "(document.querySelector('textarea').value = 'Ada prefers black tea') !== ''")
	b.submits(`form[data-body="{}"] button`, "Changed.")
	b.sees("blockquote", "black tea")
	b.submits(`form[data-body*="forgotten"] button`, "Forgotten")
	b.submits(`form[data-body*="active"] button`, "Restored")
}

func chatPaneInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000, model: thinksForLong})
	b := newBrowser(t, r.url)
	b.open("/chat/general")
	b.until("the bot is far away", "(direct => (window.fetch = (...a) => new Promise(r => setTimeout(r, 300)).then(() => window.gone ? Promise.reject(new Error('The bot is gone.')) : direct(...a)), true))(window.fetch)")
	b.keys("#text", "Hello <img src=x onerror=alert(1)>")
	b.enter()
	b.sees("#said", "Hello <img src=x onerror=alert(1)>")
	b.keys("#text", "/cont") // while the message may still be on its way
	b.sees("#said", "<b>in bold</b>")
	b.shows("#choices li")
	b.keys("#text", kb.Tab)
	b.until("it is completed", "document.getElementById('text').value === '/context '")
	b.enter()
	b.sees("#note", "messages")
	b.until("the box is empty", "document.getElementById('text').value === ''")
	b.keys("#text", "/settings keep_l")
	b.sees("#choices li", "keep_last_n")
	b.keys("#text", kb.ArrowDown)
	b.enter()
	b.until("it is chosen", "document.getElementById('text').value === '/settings compaction.keep_last_n '")
	b.until("think better of it", "(document.getElementById('text').value = '') === ''")
	b.until("the bot goes", "window.gone = true")
	b.keys("#text", "Are you there?")
	b.enter()
	b.sees("#note", "Not sent: The bot does not answer.")
	b.until("what was not sent is in the box", "document.getElementById('text').value === 'Are you there?'")
	b.until("it comes back", "(document.getElementById('text').value = '', window.gone = false) === false")

	b.keys("#text", "think for long")
	b.enter()
	b.click("#stop")
	b.until("it is stopped", "document.getElementById('stop').hidden")
	b.open("/chat/general")
	b.sees("#said", "think for long")
	b.keys("#text", "/pause")
	b.enter()
	b.click(`#said form[data-api$="/resume"] button`)
	b.sees("#note", "answering here again")
	b.until("it is not paused any more", "!document.querySelector('#said form')")

	// Safari says of the Enter that ends the input of a word in Japanese or Chinese only by its code that
	// it is none.
	b.keys("#text", "konnichiwa")
	const enter = "document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: %d, bubbles: true, cancelable: true}))"
	check.Equal(t, "the page leaves the key alone", evaluate[bool](b, fmt.Sprintf(enter, 229)), true)
	check.Equal(t, "text", evaluate[string](b, "document.getElementById('text').value"), "konnichiwa")
	check.Equal(t, "the page leaves Enter alone", evaluate[bool](b, fmt.Sprintf(enter, 13)), false)
	b.sees("#said", "konnichiwa")

	// A screen reader reads out what is added to the page, which should be what is new.
	r.talk("web:long", 20)
	b.open("/chat/long")
	b.sees("#connection", "live")
	b.until("additions are counted", "(window.added = 0, new MutationObserver((all) => all.forEach((m) => window.added += m.addedNodes.length)).observe(document.getElementById('said'), { childList: true }), true)")
	b.keys("#text", "Are the tulips red?")
	b.enter()
	b.sees("#said article:nth-last-child(2)", "Are the tulips red?")
	b.until("few elements were added", "window.added < 20")
}

func loginInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{token: "a-long-secret-token"})
	r.say(here, "Hello")
	b := newBrowser(t, r.url)
	login := func(next, shows string) {
		b.open("/login?next=" + next)
		b.keys("input[type=password]", "a-long-secret-token")
		b.enter()
		b.shows(shows)
	}
	login("/memories", ".search")
	b.click(`form[action="/logout"] button`)
	b.shows("input[type=password]")
	b.audited("login")
	login("/", "tbody")
	b.sees("#connection", "live")
	b.tolerates("401")
	b.until("the session ends", "fetch('/logout', {method: 'POST'}).then(() => true)")
	r.say(here, "Hello again")
	b.until("the login is a page of its own", "location.pathname === '/login' && !!document.querySelector('form.login')")
}

func refusalInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.say(here, "Hello")
	var all []*watcher
	for range maxWatchers {
		w, _, _, _ := r.events.watch("")
		all = append(all, w)
	}
	b := newBrowser(t, r.url)
	b.tolerates("503")
	b.open("/")
	b.sees("#connection", "the bot does not answer")
	for _, w := range all {
		r.events.unwatch(w)
	}
	b.sees("#connection", "live")
}
