package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/testkit/check"
)

// counting is a model that says the how manieth answer it gives, and the question.
func counting() func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		last, _, _ := strings.Cut(req.Messages[len(req.Messages)-1].Text, "\n\n<now>")
		return said(fmt.Sprintf("Answer %d to %q", n, last[strings.LastIndex(last, "] ")+2:]))
	}
}

// writes sends a message to a web conversation, and waits for its answer.
func (r *rig) writes(conversation, text string) {
	r.t.Helper()
	r.do(202, nil, "POST "+at(conversation, "/messages"), string(encoded(messageNew{ID: fmt.Sprintf("%x", sha256.Sum256([]byte(text))), Text: text})))
	r.idle(conversation)
}

// presses sends keys to what has the focus.
func (b *browser) presses(keys string) { b.keys(":focus", keys) }

// chatsInBrowser finds, opens, names, archives, exports and deletes chats.
func chatsInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000, model: counting()})
	r.writes("web:pond", "How deep is the pond?")
	r.writes("web:shed", "How high is the shed?")
	r.writes("web:chat-0000abcd", hostile)
	b := newBrowser(t, r.url)
	b.open("/chat/pond")
	b.sees("#said", "You")
	b.sees("#said", `Answer 1 to "How deep is the pond?"`)
	b.sees("#said article.assistant header", "Cairn")
	b.sees("#roomlist", hostile[:20]) // a chat that nobody named has its first words
	b.shows("#gauge meter")
	b.audited("chats")

	b.sees("#connection", "live")
	NewChat(r.events).Reply("web:pond", nil).Show("It **is** " + hostile)
	b.sees("#writing strong", "is") // as Markdown, while it is written
	b.sees("#writing", hostile[:20])
	r.writes("web:shed", "And how wide?")
	b.sees(`#roomlist a[data-channel="web:shed"]`, "new")
	b.keys("#find input", "shed")
	b.until("others are gone", "document.querySelectorAll('#roomlist li').length === 1")
	b.enter()
	b.sees("h1", "shed")
	b.until("it is read", "!document.querySelector('#roomlist .new')")
	b.open("/chat/pond")
	b.until("still read", "document.querySelectorAll('#roomlist li').length === 3 && !document.querySelector('#roomlist .new')")

	b.click(".manage > summary")
	b.until("another name", "(document.querySelector('.managed input').value = '<b>The pond</b>') !== ''")
	b.submits(".managed form[data-keep] button", "Done.")
	b.sees("h1", "<b>The pond</b>")
	b.sees("#roomlist", "<b>The pond</b>")
	b.click(".manage > summary")
	b.audited("chat_managed")
	b.submits(`.managed form[data-body*="true"] button`, "Done.")
	b.sees("#roomlist summary", "Archive (1)")
	b.click(".manage > summary")
	b.submits(`.managed form[data-body*="false"] button`, "Done.")
	b.until("it is back", "!document.querySelector('#roomlist summary')")
	b.click(".manage > summary")
	b.until("an empty name is its own", "(document.querySelector('.managed input').value = '') === ''")
	b.submits(".managed form[data-keep] button", "Done.")
	b.sees("h1", "pond")

	b.click(".manage > summary")
	b.click(".managed details summary")
	b.sees(".managed", "permanently deletes 2 messages and 0 memories")
	b.click(".managed .danger")
	b.sees("#flash", "Deleted.")
	b.until("it is gone", "location.pathname === '/chat/general' && !document.querySelector('#roomlist').textContent.includes('pond')")
	check.Equal(t, "what is left", get[conversationList](r, "/api/conversations?connector=web").Total, 2)

	b.click(".roomshead a")
	b.until("a new chat", "location.pathname.startsWith('/chat/chat-')")
	b.types("Which plants like shade?")
	b.sees("#roomlist [aria-current]", "Which plants like shade?")
}

// askedAgainInBrowser edits the last message, and has it answered again, by mouse and by keyboard alone.
func askedAgainInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000, model: counting()})
	b := newBrowser(t, r.url)
	b.open("/chat/general")
	b.types("How deep is the pond?")
	b.sees("#said", "Answer 1 to")
	b.click(`#said [data-tool="again"]:not([hidden])`)
	b.sees("#said", `Answer 2 to "How deep is the pond?"`)
	b.until("the first answer is gone", "!document.getElementById('said').textContent.includes('Answer 1')")
	b.click(`#said [data-tool="edit"]:not([hidden])`)
	b.until("the text is in the box", "document.getElementById('text').value === 'How deep is the pond?' && !document.getElementById('editing').hidden")
	b.click("#edit-cancel")
	b.until("it is left again", "document.getElementById('text').value === '' && document.getElementById('editing').hidden")

	b.until("the keyboard is in the box", "(document.getElementById('text').focus(), true)")
	b.presses(kb.ArrowUp) // in an empty box
	b.until("the last message is edited", "document.getElementById('text').value === 'How deep is the pond?'")
	b.presses(" Today?")
	b.enter()
	b.sees("#said", `Answer 3 to "How deep is the pond? Today?"`)
	b.until("and only that is left", "document.querySelectorAll('#said article').length === 2")
	r.idle(pane)
	check.Len(t, "messages", get[messageList](r, at(pane, "/messages")).Messages, 2)

	b.types("And the shed?")
	b.sees("#said", "Answer 4 to")
	b.until("only the newest can be edited", `document.querySelectorAll('#said [data-tool="edit"]:not([hidden])').length === 1`)
	b.until("the page can copy", "(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)")
	b.click(`#said article:last-of-type [data-tool="copy"]`)
	b.until("an answer is copied", "window.copied === 'Answer 4 to \"And the shed?\"'")
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// drops is a script that drops, pastes or chooses a file of some bytes in base64.
func drops(how, name, kind, data string) string {
	return fmt.Sprintf(`((how, name, kind, data) => {
		const all = new DataTransfer();
		all.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name, { type: kind }));
		if (how === "choose") {
			document.getElementById("file").files = all.files;
			document.getElementById("file").dispatchEvent(new Event("change"));
		} else if (how === "drop") {
			document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: all, bubbles: true, cancelable: true }));
		} else {
			document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: all, bubbles: true, cancelable: true }));
		}
		return true;
	})(%q, %q, %q, %q)`, how, name, kind, data)
}

func filesInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000, model: counting()})
	b := newBrowser(t, r.url)
	b.open("/chat/general")
	b.until("a picture is pasted", "%s", drops("paste", hostile+".png", "image/png", pixel))
	b.until("a text is dropped", "%s", drops("drop", "notes.md", "text/markdown", "IyBUaGUgcG9uZA=="))
	b.until("another one is chosen", "%s", drops("choose", "wrong.md", "text/markdown", "IyBUaGUgcG9uZA=="))
	b.sees("#files", hostile+".png")
	b.click(`#files [aria-label="Remove wrong.md"]`)
	b.until("it is removed", "document.querySelectorAll('#files li').length === 2")
	b.audited("files")
	b.types("What is this?")
	b.sees("#said", "Answer 1 to")
	b.until("the picture is shown", "[...document.querySelectorAll('#said .picture img')].some((img) => img.complete && img.naturalWidth === 1)")
	b.sees("#said", "notes.md")
	messages := get[messageList](r, at(pane, "/messages")).Messages
	check.Len(t, "files", messages[0].With, 2)
	c := must(r.store.Find(t.Context(), pane))
	check.Contains(t, "what the model reads", must(c.Transcript().Message(t.Context(), 1)).Body(), "# The pond", ".png, image/png")

	b.click(`#said [data-tool="again"]:not([hidden])`)
	b.sees("#said", "Answer 2 to")
	b.shows("#said .picture img") // it moved with its message
	check.NoError(t, r.hub.Delete(t.Context(), pane, get[messageList](r, at(pane, "/messages")).Messages[0].ID))
	b.sees("#said", "Answer 2 to")
	file := fmt.Sprintf("GET %s/files/%d", at(pane, ""), messages[0].With[0].File)
	r.do(404, nil, file, "") // and is deleted with it

	b.until("an archive is dropped", "%s", drops("drop", "x.zip", "application/zip", "UEsDBA=="))
	b.tolerates("status of 422")
	b.types("And this?")
	b.sees("#note", "x.zip cannot be read: only pictures")
	b.until("nothing is lost", "document.getElementById('text').value === 'And this?' && document.querySelectorAll('#files li').length === 1")
	b.click("#files button")
	b.until("the box is empty", "(document.getElementById('text').value = '') === ''")

	b.until("the keyboard is in the box", "(document.getElementById('text').focus(), true)")
	b.presses("/comp")
	b.shows("#choices [aria-selected=true]")
	b.audited("menu")
	b.enter() // takes the first
	b.until("it is taken", "document.getElementById('text').value === '/compact ' && document.getElementById('choices').hidden")
	b.presses(kb.Backspace)
	b.until("typed whole, a command is sent", "(document.getElementById('text').value = '') === ''")
	b.types("/context")
	b.sees("#note", "window")
}

// flowInBrowser reads marks of compactions, memories and code in the flow of a chat.
func flowInBrowser(t *testing.T) {
	code := "Here:\n\n```go\nfunc main() { println(\"<b>hi</b>\") } // " + hostile + "\n```\n\n- [x] dig\n- [ ] plant\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
	r := newRig(t, rigOptions{says: code})
	for i, text := range plots(24) {
		r.do(202, nil, "POST "+at(pane, "/messages"), string(encoded(messageNew{ID: fmt.Sprint(i), Text: text})))
		r.idle(pane)
	}
	r.drain()
	_, _, err := r.hub.Run(t.Context(), pane, owner, "/compact")
	check.NoError(t, err)
	r.drain()
	c := must(r.store.Find(t.Context(), pane))
	newest := must(c.Transcript().Newest(t.Context()))
	r.savedFrom(pane, newest.Seq-1, "The owner prefers "+hostile)
	b := newBrowser(t, r.url)
	b.open("/chat/general")
	b.shows("#said .marker")
	b.click("#said .marker summary")
	b.shows("#said .marker .message:not(.evidence *), #said .marker .entry")
	b.sees("#said .marker", "of messages #")
	b.audited("flow")
	b.until("what is opened stays open", "(read(), new Promise((done) => setTimeout(done, 300))).then(() => !!document.querySelector('#said .marker[open] .message, #said .marker[open] .entry'))")
	b.shows(".code .nf, .code .kd")
	b.sees(".code .language", "go")
	b.until("code is copied", "(navigator.clipboard.writeText = async (text) => { window.copied = text; }, document.querySelector('.code [data-tool]').click(), new Promise((done) => setTimeout(done, 50))).then(() => window.copied.startsWith('func main()'))")
	b.shows(`.markdown input[type=checkbox][checked]`)
	b.sees("#said .kept", "The owner prefers "+hostile)
	b.click("#said .kept button")
	b.sees("#note", "Forgotten")
	b.until("it is gone", "!document.querySelector('#said .kept')")
	check.Equal(t, "its state", get[MemoryList](r, "/api/memories?state=forgotten").Total, 1)
}

// savedFrom saves a memory that comes from a message.
func (r *rig) savedFrom(conversation string, seq int64, fact string) {
	r.t.Helper()
	c := must(r.store.Find(r.t.Context(), conversation))
	draft := summarize.MemoryDraft{Kind: "fact", Content: fact, Messages: []int64{seq}}
	must(memory.Of(c).Keep(r.t.Context(), memory.KeepRequest{MemoryDraft: draft, Person: owner.Name, PersonID: owner.ID}))
}

// readInBrowser reads a chat without JavaScript, and uses one on a small screen.
func readInBrowser(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000, model: counting()})
	r.writes("web:pond", "How deep is the pond?")
	r.writes("web:shed", "How high is the shed?")
	b := newBrowser(t, r.url)
	run(b, "a phone", chromedp.EmulateViewport(390, 844))
	b.open("/chat/pond")
	b.sees("#connection", "live")
	b.until("the list is a menu", "!document.getElementById('rooms').checkVisibility()")
	b.click("#rooms-open")
	b.shows("#rooms")
	b.audited("phone")
	run(b, "a phone", chromedp.EmulateViewport(390, 844))
	b.until("the keyboard is in it", "document.getElementById('rooms').contains(document.activeElement)")
	b.presses(kb.Escape)
	b.until("it is closed", "!document.getElementById('rooms').checkVisibility() && document.activeElement.id === 'rooms-open'")
	b.until("the box is at the end of the screen", "document.getElementById('chat').getBoundingClientRect().bottom <= innerHeight + 1")
	b.click("#rooms-open")
	b.click(`#rooms a[data-channel="web:shed"]`)
	b.sees("#said", "How high is the shed?")

	run(b, "switch scripts off", protocol(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	page := r.page(200, "/chat/pond?find=pond")
	check.Contains(t, "page", page, "How deep is the pond?", `href="/chat/pond"`, "export?format=markdown")
	check.Lacks(t, "page", page, `href="/chat/shed"`)
	run(b, "open it", protocol(cdppage.Navigate, cdppage.NavigateParams{URL: r.url + "/chat/pond"}))
	for what, shown := range map[string]bool{"#said article": true, "#rooms a": true, "#chat": false, ".tools button": false, "#rooms-open": false, ".stop": false} {
		b.until(what, "(document.querySelector(%q)?.checkVisibility() ?? false) === %v", what, shown)
	}
}
