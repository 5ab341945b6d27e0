package web

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"cairn/channel"
	"cairn/llm"
	"cairn/memory"
	"cairn/words/wordstest"
)

// screenshots is a folder; where it is set the tests leave pictures of the pages in it.
const screenshots = "CAIRN_SCREENSHOTS"

//go:embed testdata/audit.js
var audit string

// browser is a page of a headless Chromium. What goes wrong in it fails the test: an exception,
// an error in the console, a request that fails, a dialog.
type browser struct {
	t   *testing.T
	url string
	ctx context.Context

	mu       sync.Mutex // guards problems
	problems []string
}

type step = chromedp.Action[chromedp.Void]

// newBrowser opens a page. Without Chromium it skips the test.
func newBrowser(t *testing.T, address string) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("THE DASHBOARD IS NOT TESTED IN A BROWSER: install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closePage := chromedp.NewContext(allocator)
	b := &browser{t: t, url: address, ctx: ctx}
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		closePage()
		end()
	})
	b.do("start", chromedp.EmulateViewport(1200, 900))
	return b
}

// heard notes what goes wrong.
func (b *browser) heard(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			problem += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			problem = "an error in the console"
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			problem = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *cdppage.EventJavascriptDialogOpening: // it blocks the page: the next step fails too
		problem = "a dialog opens: " + e.Message
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// limited is the context of a step.
func (b *browser) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, 30*time.Second)
}

// do does some steps.
func (b *browser) do(what string, steps ...step) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	err := chromedp.Do(ctx, steps...)
	b.expect(what, err)
}

// until waits until an expression of JavaScript is true.
func (b *browser) until(what, expression string, args ...any) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](fmt.Sprintf(expression, args...)))
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "-32000") { // another page is loaded meanwhile
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](fmt.Sprintf(expression, args...)))
	}
	b.expect(what, err)
}

// evaluate returns what an expression of JavaScript is.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	b.expect("evaluate", err)
	return value
}

// expect fails the test if a step failed, or anything else went wrong meanwhile.
func (b *browser) expect(what string, err error) {
	b.t.Helper()
	b.mu.Lock()
	problems := b.problems
	b.problems = nil
	b.mu.Unlock()
	for _, problem := range problems {
		b.t.Errorf("%s: %s", what, problem)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		text, _ := chromedp.Run(ctx, chromedp.Text("body")) // for the message alone
		b.t.Fatalf("%s: %v\n%.1500s", what, err, text)
	}
}

func (b *browser) open(path string) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, cdppage.Navigate, cdppage.NavigateParams{URL: b.url + path})
	b.expect("open "+path, err)
	b.until("open "+path, "document.readyState === 'complete' && location.href === new URL(%q, location.href).href && !!document.querySelector('main')", path)
}

// shows waits until there is an element.
func (b *browser) shows(selector string) {
	b.t.Helper()
	b.until(selector+" is shown", "!!document.querySelector(%q)?.checkVisibility()", selector)
}

// click clicks an element, when it is there. Live parts are replaced at any time, so it is looked
// up and clicked in one step.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.shows(selector)
	b.until("click "+selector, "(document.querySelector(%q)?.click(), true)", selector)
}

// keys sends keys to an element, as a keyboard does.
func (b *browser) keys(selector, keys string) {
	b.t.Helper()
	b.do("type into "+selector, chromedp.SendKeys(selector, keys))
}

// enter presses Enter. The library types a line break, too, whatever the page does with the key; a
// browser does not.
func (b *browser) enter() {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	key := input.DispatchKeyEventParams{Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
	_, err := chromedp.Call(ctx, input.DispatchKeyEvent, key)
	b.expect("press Enter", err)
	_, err = chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyUp", Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13})
	b.expect("let go of Enter", err)
}

// sees waits until an element has a text.
func (b *browser) sees(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s shows %q", selector, text), "(document.querySelector(%q)?.textContent ?? '').includes(%q)", selector, text)
}

// submits clicks a button whose form loads another page, which shows a note.
func (b *browser) submits(selector, text string) {
	b.t.Helper()
	b.click(selector)
	b.sees(".flash", text)
}

// audited looks at a page as people with other eyes, screens and keyboards do.
func (b *browser) audited(name string) {
	b.t.Helper()
	for _, look := range []struct {
		scheme string
		width  int64
	}{{"light", 1200}, {"dark", 1200}, {"light", 420}, {"dark", 420}} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media)
		b.expect("look at "+name, err)
		b.do("look at "+name, chromedp.EmulateViewport(look.width, 900))
		for _, problem := range evaluate[[]string](b, audit) {
			b.t.Errorf("%s, %s, %d wide: %s", name, look.scheme, look.width, problem)
		}
		if dir := os.Getenv(screenshots); dir != "" {
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			b.expect("picture", err)
			file := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, look.scheme, look.width))
			if err := os.WriteFile(file, picture, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.do("look", chromedp.EmulateViewport(1200, 900))
}

// hostileRig has a conversation with summaries, memories and text that wants to be run.
func hostileRig(t *testing.T) *rig {
	r := newRig(t, rigOptions{model: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if last := req.Messages[len(req.Messages)-1].Text; strings.Contains(last, "think for long") {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}
		return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: fmt.Sprintf("Answer %d <b>in bold</b>.", n)}, FinishReason: llm.FinishStop}, nil
	}})
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

// settled waits until summaries stay what they are: a repair replaces them, and their pages and
// what was opened of them are gone then.
func settled(r *rig) conversationAnswer {
	var d conversationAnswer
	for same := 0; same < 10; time.Sleep(100 * time.Millisecond) {
		before := d.Stack
		d = conversationAnswer{}
		r.do(200, &d, "GET", at(here, ""), "")
		if d.Running == "" && len(d.Stack) > 0 && slices.EqualFunc(d.Stack, before, func(a, b channel.Stone) bool { return a.ID == b.ID }) {
			same++
		} else {
			same = 0
		}
	}
	return d
}

func TestEveryPageInABrowser(t *testing.T) {
	r := hostileRig(t)
	b := newBrowser(t, r.url)
	d := settled(r)
	var memories memoryList
	r.do(200, &memories, "GET", "/api/memories", "")
	if len(d.Stack) == 0 || len(memories.Memories) == 0 {
		t.Fatal("there is nothing to see")
	}
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
		if strings.HasPrefix(pattern, "GET") && paths[pattern] == "" {
			t.Errorf("%s is not opened", pattern)
		}
	}
	paths["preview"] = p + "/settings/preview?background_threshold=0.6"
	paths["hostile"] = pageOf("terminal:" + hostile)
	paths["hostile messages"] = pageOf("terminal:"+hostile) + "/messages"
	paths["search"] = p + "/messages?q=" + url.QueryEscape(hostile)
	paths["chat"] = "/chat/general"
	records, err := r.store.Find(t.Context(), "terminal:"+hostile)
	if err == nil {
		_, err = records.Tasks().Begin(t.Context(), memory.NewTask{Agent: "researcher", Text: hostile, Message: hostile, Most: 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range paths {
		b.open(path)
		b.audited(strings.Trim(strings.NewReplacer("GET ", "", "{", "", "}", "", "$", "list", "/", "_").Replace(name), "_"))
	}
}

func TestClicksInABrowser(t *testing.T) {
	r := hostileRig(t)
	settled(r)
	b := newBrowser(t, r.url)
	p := pageOf(here)
	b.open("/")
	b.click(fmt.Sprintf(`a[href="%s"]`, p))
	b.click(".stack summary")
	b.shows(".stack .message, .stack .stone .stone")

	gauge := "document.querySelector('.card').textContent"
	before := evaluate[string](b, gauge)
	r.say(here, strings.Repeat("The pond needs a pump and a filter. ", 60))
	b.until("the gauge follows", "%s !== %q", gauge, before)
	b.shows(".stack details[open]")

	b.keys("input[name=focus]", "the pond")
	b.click(`form[action$="/compact"] button`)
	b.shows(".flash")
	if err := r.hub.Idle(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	b.submits(`form[action$="/pause"] button`, "silent here")
	b.submits(`form[action$="/resume"] button`, "answers here again")

	b.open(p + "/settings")
	b.until("move a slider", "(s => (s.value = '0.6', s.dispatchEvent(new Event('input', {bubbles: true}))))(document.getElementById('set-background_threshold'))")
	b.sees("#preview thead", "background_threshold=0.6")
	b.shows("#preview svg")
	b.submits(`button[formmethod=post]`, "background_threshold = 0.6")
	b.submits(`button[value=background_threshold]`, "is taken back")

	b.open("/memories?q=tea")
	b.click(".memories a")
	b.submits(`form[action$="/pin"] button`, "Pinned")
	b.submits(`form[action$="/forget"] button`, "Forgotten")
	b.submits(`form[action$="/restore"] button`, "Restored")
}

func TestTheChatPaneInABrowser(t *testing.T) {
	b := newBrowser(t, hostileRig(t).url)
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
	b.sees("#note", "Not sent: The bot is gone.")
	b.until("what was not sent is in the box", "document.getElementById('text').value === 'Are you there?'")
	b.until("it comes back", "(document.getElementById('text').value = '', window.gone = false) === false")

	b.keys("#text", "think for long")
	b.enter()
	b.click("#stop")
	b.until("it is stopped", "document.getElementById('stop').hidden")
	b.open("/chat/general")
	b.sees("#said", "think for long")
}

func TestLoginInABrowser(t *testing.T) {
	r := newRig(t, rigOptions{token: "a-long-secret-token"})
	b := newBrowser(t, r.url)
	b.open("/login?next=/memories")
	b.audited("login")
	b.keys("input[type=password]", "a-long-secret-token")
	b.enter()
	b.shows(".search")
	b.click(`form[action="/logout"] button`)
	b.shows("input[type=password]")
}
