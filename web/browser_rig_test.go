package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/testkit/check"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// screenshots is a folder; if it is set, the tests save pictures of the pages in it.
const screenshots = "CAIRN_SCREENSHOTS"

//go:embed testdata/audit.js
var audit string

// axe is the file of axe-core, another audit; if it is not set, that is left out.
const axe = "CAIRN_AXE"

// runAxe is a script that returns what axe finds wrong with the page.
const runAxe = `axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations.map((one) =>
	"axe: " + one.id + ": " + one.help + ": " + one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")))`

// browser is a page of a headless Chromium. Any problem in it fails the test: an exception, an
// error in the console, a failed request, a dialog.
type browser struct {
	t   *testing.T
	url string
	ctx context.Context

	mu       sync.Mutex // guards everything below
	problems []string
	expected string // a problem with these words is none
}

// chromium is the browser of all tests in TestInBrowser; each has a tab of its own.
var chromium context.Context

// TestInBrowser opens and clicks the pages. Without Chromium it is skipped.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	names := []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}
	of := slices.IndexFunc(names, func(name string) bool { return check.ErrorOf(exec.LookPath(name)) == nil })
	if of < 0 {
		t.Skip("THE DASHBOARD IS NOT TESTED IN A BROWSER: install chromium")
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(names[of]), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience))...)
	defer end()
	ctx, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	check.NoError(t, chromedp.Do(ctx))
	chromium = ctx
	t.Run("tabs", func(t *testing.T) { // at the same time
		t.Run("the chat pane", chatPaneInBrowser)
		t.Run("a hidden tab", hiddenTabInBrowser)
		t.Run("a login, and a session that ends", loginInBrowser)
		check.SkipUnderRace(t)
		t.Run("pages", pagesInBrowser)
		t.Run("clicks", clicksInBrowser)
		t.Run("the list of chats", chatsInBrowser)
		t.Run("what is asked again", askedAgainInBrowser)
		t.Run("files and the menu", filesInBrowser)
		t.Run("the flow of a chat", flowInBrowser)
		t.Run("a chat on a phone, and without scripts", readInBrowser)
	})
	check.NoError(t, chromedp.Cancel(ctx))
}

// patience is how long a step may take on a machine that is busy.
const patience = 2 * time.Minute

// newBrowser opens an empty page.
func newBrowser(t *testing.T, address string) *browser {
	t.Helper()
	ctx, _ := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	b := &browser{t: t, url: address, ctx: ctx}
	check.NoError(t, chromedp.Listen(ctx, b.heard))
	t.Cleanup(func() { check.NoError(t, chromedp.Cancel(ctx)) })
	run(b, "start", chromedp.EmulateViewport(1200, 900))
	return b
}

// heard records a problem.
func (b *browser) heard(event any) {
	wrong := false
	switch e := event.(type) {
	case *runtime.EventExceptionThrown, *cdppage.EventJavascriptDialogOpening: // a dialog blocks the page: the next step fails too
		wrong = true
	case *runtime.EventConsoleAPICalled:
		wrong = e.Type == runtime.ConsoleAPICalledTypeError
	case *cdplog.EventEntryAdded:
		wrong = e.Entry.Level == cdplog.EntryLevelError
	}
	if !wrong {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if problem := string(must(json.Marshal(event))); b.expected == "" || !strings.Contains(problem, b.expected) {
		b.problems = append(b.problems, problem)
	}
}

// tolerates makes problems with these words be none.
func (b *browser) tolerates(words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = words
}

// run runs an action, and fails the test if that fails or a problem was recorded.
func run[T any](b *browser, what string, action chromedp.Action[T]) T {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	b.expect(what, err)
	return value
}

// protocol is a command of the browser's protocol.
func protocol[P, R any](c cdp.Command[P, R], params P) chromedp.Action[R] {
	return func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) }
}

// until waits until a page is loaded and a JavaScript expression is true. A page that goes away
// meanwhile may never answer.
func (b *browser) until(what, expression string, args ...any) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	expression = "document.readyState === 'complete' && (" + fmt.Sprintf(expression, args...) + ")"
	holds := false
	err := error(nil)
	for ; !holds; time.Sleep(20 * time.Millisecond) {
		try, stop := context.WithTimeout(ctx, 5*time.Second)
		holds, err = chromedp.Run(try, chromedp.Evaluate[bool](expression, chromedp.EvalAwaitPromise))
		stop()
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "-32000")) {
			break
		}
	}
	b.expect(what, err)
}

// expect ends the test if a step failed, or a problem was recorded. It shows the page, and which line of
// the test waits.
func (b *browser) expect(what string, err error) {
	b.mu.Lock()
	problems := b.problems
	b.mu.Unlock()
	if err != nil || len(problems) > 0 {
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.t.Fatalf("%s: %q, %v\n%.1500s\n%s", what, problems, err, text, debug.Stack())
	}
}

func (b *browser) open(path string) {
	run(b, "open "+path, protocol(cdppage.Navigate, cdppage.NavigateParams{URL: b.url + path}))
	b.until("open "+path, "location.href === new URL(%q, location.href).href && !!document.querySelector('main')", path)
}

// shows waits until an element exists.
func (b *browser) shows(selector string) {
	b.until(selector+" is shown", "!!document.querySelector(%q)?.checkVisibility()", selector)
}

// click clicks an element as soon as it exists. Live parts are replaced at any time, so one step finds and clicks it.
func (b *browser) click(selector string) {
	b.shows(selector)
	b.until("click "+selector, "(document.querySelector(%q)?.click(), true)", selector)
}

// keys sends keys to an element, as a keyboard does.
func (b *browser) keys(selector, keys string) {
	run(b, "type into "+selector, chromedp.SendKeys(selector, keys))
}

// enter presses Enter. The library types a line break, too, whatever the page does with the key; a browser does not.
func (b *browser) enter() {
	key := input.DispatchKeyEventParams{Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
	run(b, "press Enter", protocol(input.DispatchKeyEvent, key))
	key.Type = "keyUp"
	key.Text = ""
	run(b, "let go of Enter", protocol(input.DispatchKeyEvent, key))
}

// types sends a text to the chat; it types all at once.
func (b *browser) types(text string) {
	b.until("write in the box", "(document.getElementById('text').focus(), true)")
	run(b, "type "+text, protocol(input.InsertText, input.InsertTextParams{Text: text}))
	b.enter()
}

// sees waits until an element has a text.
func (b *browser) sees(selector, text string) {
	b.until(fmt.Sprintf("%s shows %q", selector, text), "(document.querySelector(%q)?.textContent ?? '').includes(%q)", selector, text)
}

// submits clicks a button that changes something; then the page is loaded again, with a note.
func (b *browser) submits(selector, text string) {
	b.shows(selector)
	b.until("forget the note before", "(document.getElementById('flash').textContent = '') === ''")
	b.click(selector)
	b.sees("#flash", text)
}

// audited checks a page for other kinds of eyesight, screens and keyboards.
func (b *browser) audited(name string) {
	dir := os.Getenv(screenshots)
	for i := range 4 {
		scheme := []string{"light", "dark"}[i%2]
		width := []int64{1200, 420, 420, 1200}[i]
		if i >= 2 && dir == "" {
			break
		}
		colors := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		run(b, "look at "+name, protocol(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: colors}))
		run(b, "look at "+name, chromedp.EmulateViewport(width, 900))
		problems := run(b, "audit "+name, chromedp.Evaluate[[]string](audit))
		if file := os.Getenv(axe); file != "" {
			run(b, "load axe", chromedp.Evaluate[bool](string(must(os.ReadFile(file)))+"; true"))
			problems = append(problems, run(b, "axe "+name, chromedp.Evaluate[[]string](runAxe, chromedp.EvalAwaitPromise))...)
		}
		for _, problem := range problems {
			b.t.Errorf("%s, %s, %d wide: %s", name, scheme, width, problem)
		}
		if dir != "" {
			file := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
			check.NoError(b.t, os.WriteFile(file, run(b, "picture", chromedp.FullScreenshot(100)), 0o600))
		}
	}
	run(b, "look", chromedp.EmulateViewport(1200, 900))
}
