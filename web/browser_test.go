package web

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"cairn/channel"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/llmtest"
	"cairn/testkit/wordstest"
)

// hostileRig returns a rig with a conversation of summaries, memories and text that tries to run as code.
func hostileRig(t *testing.T) *rig {
	other := &llmtest.Model{Label: "other", Tokens: 8000, Func: func(context.Context, int, llm.Request) (llm.Response, error) { return said(hostile) }}
	r := newRig(t, rigOptions{says: "Noted <b>in bold</b>.", choices: []channel.Choice{{Name: hostile, Model: other}, {Name: "other", Model: other}}})
	c := r.past("terminal:"+hostile, hostile)
	must(c.Tasks().Begin(t.Context(), store.NewTask{Task: store.Task{Agent: "researcher", Text: hostile}, Message: hostile, Max: 4}))
	r.past(here, append(append(wordstest.Texts(), hostile), plots(30)...)...)
	r.say(here, hostile)
	r.remember("Ada prefers " + hostile)
	r.remember("Ada prefers green tea")
	r.drain() // a repair would replace a summary, and so remove its page
	return r
}

// pagesInBrowser opens and audits every page.
func pagesInBrowser(t *testing.T) {
	r := hostileRig(t)
	r.linedSummary("terminal:lines")
	b := newBrowser(t, r.url)
	summary := get[conversationAnswer](r, at(here, "")).Stack[0].ID
	memory := get[MemoryList](r, "/api/memories").Memories[0].ID
	path := strings.NewReplacer("{$}", "", "/c/{name}", pageOf(here), "/chat/{chat}", "/chat/general",
		"summaries/{summary}", fmt.Sprint("summaries/", summary), "memories/{id}", fmt.Sprint("memories/", memory), "{person}", "ada")
	paths := map[string]string{
		"hostile":          pageOf("terminal:" + hostile),
		"hostile messages": pageOf("terminal:"+hostile) + "/messages",
		"person":           r.people(),
		"people":           pageOf(of) + "/people",
		"lines":            summaryPageOf("terminal:lines", r.lined),
		"search":           pageOf(here) + "/messages?q=" + url.QueryEscape(hostile),
	}
	for _, page := range pages {
		paths[page.path] = path.Replace(page.path)
	}
	for name, path := range paths {
		b.open(path)
		b.audited(strings.Trim(strings.NewReplacer("{", "", "}", "", "$", "list", "/", "_").Replace(name), "_"))
	}
}

func clicksInBrowser(t *testing.T) {
	r := hostileRig(t)
	r.linedSummary("terminal:lines")
	b := newBrowser(t, r.url)
	p := pageOf(here)
	b.open("/")
	b.sees("#connection", "live")
	link := fmt.Sprintf("main a[href=%q]", p)
	b.until("the keyboard is at a link", "(document.querySelector(%q).focus(), true)", link)
	r.say("terminal:second", "Hello")
	b.until("the list is read again", "document.querySelector('tbody th').textContent === 'terminal:second'")
	b.until("the keyboard is still there", "document.activeElement === document.querySelector(%q)", link)
	b.click(link)
	b.shows(".stack summary")
	const copied = "((window.early = document.querySelector('.stack').cloneNode(true)).querySelector('details').open = true)"
	b.until("one opens before the script runs", copied)
	b.click(".stack summary")
	b.shows(".stack .message:not(.evidence *), .stack .entry .entry")
	b.until("the script runs", "(openable(early), true)")
	b.until("and reads what is open", "early.querySelector('.message, .entry .entry') !== null")

	fill := "document.querySelector('.card').textContent"
	before := run(b, "read the bar", chromedp.Evaluate[string](fill))
	r.say(here, strings.Repeat("The pond needs a pump and a filter. ", 60))
	b.until("the bar follows", "%s !== %q", fill, before)
	b.shows(".stack details[open]")

	b.keys("input[name=focus]", "the pond")
	b.click(`form[data-api$="/compact"] button`)
	b.sees(".flash", "summarized")
	r.idle(here)
	b.until("choose a model", "(document.querySelector('select[name=name]').value = 'other') !== ''")
	b.submits(`form[data-api$="/model"] button`, "It answers from the next message on.")
	b.sees(".cards", "chosen by owner")
	b.submits(`form[data-api$="/pause"] button`, "paused here")
	b.submits(`form[data-api$="/resume"] button`, "answering here again")
	r.do(200, nil, "POST "+at(here, "/pause"), "") // as in another tab
	r.say(here, "Hello")
	b.submits(`form[data-api$="/resume"] button`, "answering here again")

	b.open(summaryPageOf("terminal:lines", r.lined))
	b.click(".evidence summary")
	b.shows(".evidence .message")
	b.click(".rewrite summary")
	b.audited("lines_open")
	b.keys(".rewrite textarea", " again")
	b.submits(".rewrite form button", "The line is rewritten, and later summaries keep your wording. Undo reverts this.")
	b.sees(".lines", "written by owner")

	b.open(p + "/settings")
	b.until("move a slider", "(s => (s.value = '0.6', s.dispatchEvent(new Event('input', {bubbles: true}))))(document.getElementById('set-background_threshold'))")
	b.sees("#preview thead", "background_threshold=0.6")
	b.shows("#preview svg")
	b.submits(`.apply button:not(#try)`, "Settings changed.")
	b.submits(`button[value=background_threshold]`, "Settings changed.")
	b.until("it is reset", "document.getElementById('set-background_threshold').value === '0.8'")

	memoriesInBrowser(b)
}

// memoriesInBrowser adds a memory, changes several together, and one.
func memoriesInBrowser(b *browser) {
	b.open("/memories")
	b.click("details.add summary")
	b.keys(".add textarea", "Bob plays the oboe")
	b.keys(".add input[name=conversation]", here)
	b.submits(".add form button", "Saved.")
	b.sees("blockquote", "oboe")
	b.open("/memories?q=prefers")
	b.audited("memories_select")
	b.click("#all")
	b.submits(`.bulk button[data-body*="true"]`, "Pinned: they")
	b.until("two are pinned", "document.querySelectorAll('#memories .tag.warn').length === 2")
	b.click("#memories tbody input")
	b.submits(`.bulk button[data-body*="forgotten"]`, "Forgotten.")
	b.until("one is left", "document.querySelectorAll('#memories tbody tr').length === 1")
	b.open("/memories?state=forgotten")
	b.click("#memories tbody input")
	b.submits(`.bulk button[data-body*="active"]`, "Restored.")
	b.open("/memories?q=prefers")
	b.click("#all")
	b.submits(`.bulk button[data-body*="false"]`, "Unpinned.")

	b.open("/memories?q=tea")
	b.click("#memories a")
	b.submits(`form[data-body*="true"] button`, "Pinned")
	b.until("change the text", "(document.querySelector('textarea').value = 'Ada prefers black tea') !== ''")
	b.submits(`form[data-body="{}"] button`, "Changed.")
	b.sees("blockquote", "black tea")
	b.submits(`form[data-body*="forgotten"] button`, "Forgotten")
	b.submits(`form[data-body*="active"] button`, "Restored")
}

// slow is a model that answers when it may, if a question has one of its words.
func slow(more <-chan bool) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1].Text
		last = last[max(strings.LastIndex(last, "[#"), 0):] // messages that were not answered precede it
		if strings.Contains(last, "ponder") {
			select {
			case <-more:
			case <-ctx.Done():
				return llm.Response{}, ctx.Err()
			}
		}
		switch {
		case strings.Contains(last, "refuse"):
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "no"}
		case strings.Contains(last, "add"), req.Messages[len(req.Messages)-1].Role == llm.RoleTool:
			return channeltest.Add(ctx, n, req)
		}
		return said("The gate is **green** <b>in bold</b>.\n\n    <b>never</b>")
	}
}

func chatPaneInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000, model: slow(nil), tools: &channeltest.Box{Approve: channel.ApproveAlways}})
	r.withPosts(1) // which does not limit who writes here
	b := newBrowser(t, r.url)
	b.open("/chat/general")
	b.until("the bot is far away", "(direct => (window.fetch = (...a) => new Promise(r => setTimeout(r, 100)).then(() => window.gone ? Promise.reject(new Error('The bot is gone.')) : direct(...a)), true))(window.fetch)")
	b.types("Hello <img src=x onerror=alert(1)>")
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
	b.types("Are you there?")
	b.sees("#note", "Not sent: The bot does not answer.")
	b.until("what was not sent is in the box", "document.getElementById('text').value === 'Are you there?'")
	b.until("it comes back", "(window.gone = false) === false")
	b.enter()
	b.sees("#said", "Are you there?")

	b.types("ponder for long")
	b.click("#stop")
	b.until("it is stopped", "document.getElementById('stop').hidden")
	b.open("/chat/general")
	b.sees("#said", "ponder for long")
	b.types("/pause")
	b.click(`#said form[data-api$="/resume"] button`)
	b.sees("#note", "answering here again")
	b.until("it is not paused any more", "!document.querySelector('#said form')")

	// Safari says of the Enter that ends the input of a word in Japanese or Chinese only by its code that it is none.
	b.keys("#text", "konnichiwa")
	const enter = "document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: %d, bubbles: true, cancelable: true}))"
	b.until("the page leaves the key alone", enter+" && document.getElementById('text').value === 'konnichiwa'", 229)
	b.until("the page takes Enter", "!"+enter, 13)
	b.sees("#said", "konnichiwa")

	b.types("please add")
	b.sees("#said", "wants to call")
	b.audited("approval")
	b.shows("#stop")
	b.click(`#said form[data-body*="true"] button`)
	b.sees("#said", "The tool says: five")
	b.sees("#note", "allowed the call of calc_add")

	// A screen reader reads out what is added to the page, which should be what is new.
	r.talk("web:long", 20)
	b.open("/chat/long")
	b.sees("#connection", "live")
	b.until("additions are counted", "(window.added = 0, new MutationObserver((all) => all.forEach((m) => window.added += m.addedNodes.length)).observe(document.getElementById('said'), { childList: true }), true)")
	b.types("Are the tulips red?")
	b.sees("#said article:nth-last-child(2)", "Are the tulips red?")
	b.until("few elements were added", "window.added < 20")
}

// A page that nobody looks at follows no events.
func hiddenTabInBrowser(t *testing.T) {
	more := make(chan bool)
	r := newRig(t, rigOptions{model: slow(more)})
	b := newBrowser(t, r.url)
	look := func(hidden bool) {
		b.until("look", "(Object.defineProperty(document, 'hidden', {configurable: true, value: %v}), document.dispatchEvent(new Event('visibilitychange')), true)", hidden)
	}
	b.open("/chat/general")
	for question, answer := range map[string]string{"ponder the colour of the gate": "The gate is", "ponder, and refuse": "The model's server refused my request"} {
		b.types(question)
		b.sees("#said", question)
		b.shows("#stop")
		b.until("part of the answer is shown", "(document.getElementById('writing').hidden = false) === false")
		look(true)
		more <- true
		r.idle(pane)
		look(false)
		b.sees("#said", answer)
		b.until("nothing is being written any more", "document.getElementById('writing').hidden && document.getElementById('stop').hidden")
	}
	b.open("/chat/general")
	b.sees("#said", "The model's server refused my request")
	b.sees("#connection", "live")
	b.types("ponder once more")
	b.shows("#stop")
	streams := []*fetch.RequestPattern{{URLPattern: "*/api/events*"}}
	run(b, "let the stream wait", protocol(fetch.Enable, fetch.EnableParams{Patterns: streams}))
	b.open("/chat/general") // another tab, in which the answer is there before the stream opens
	b.shows("#stop")
	more <- true
	r.idle(pane)
	run(b, "let the stream open", protocol(fetch.Disable, cdp.Empty{}))
	b.until("it is not busy any more", "document.getElementById('stop').hidden")
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

	var all []watcher // so many that the server refuses for a while
	for range maxWatchers {
		all = append(all, r.events.watch("", ""))
	}
	b.tolerates("status of 503")
	login("/", "tbody")
	b.sees("#connection", "the bot does not answer")
	for _, w := range all {
		r.events.unwatch(w)
	}
	b.sees("#connection", "live")
	b.tolerates("status of 401")
	b.until("the session ends", "fetch('/logout', {method: 'POST'}).then(() => true)")
	r.say(here, "Hello again")
	b.until("the login is a page of its own", "location.pathname === '/login' && !!document.querySelector('form.login')")
}
