// What runs an engine in tests: its owner, and workers.

package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

// owner owns an engine as a conversation's loop does: only one goroutine at a time calls it.
type owner struct {
	*compactor.Compactor
	now      func() time.Time
	children sync.WaitGroup
	hold     func(compactor.Work) compactor.Result // runs a piece of work; nil: without delay
	listen   func([]compactor.Event)               // called with the events of a step that has some; it may query the engine; nil: nobody listens

	mu      sync.Mutex // guards the engine and everything below
	changed chan struct{}
	alarm   *time.Timer
	steps   int // so far
}

func openOwner(t testing.TB, o compactor.Options) *owner {
	t.Helper()
	w := &owner{now: time.Now, changed: make(chan struct{})}
	if o.Now != nil {
		w.now = o.Now
	}
	w.Compactor = check.Must(compactor.Open(context.Background(), o))(t)
	return w
}

// attend takes what the engine has for its owner.
func (w *owner) attend() {
	if events := w.Events(); len(events) > 0 && w.listen != nil {
		w.listen(events)
	}
	for _, one := range w.Work() {
		w.children.Go(func() {
			run := w.hold
			if run == nil {
				run = compactor.Work.Run
			}
			r := run(one)
			w.do(func() { w.Done(r) })
		})
	}
}

// do runs f while nothing else uses the engine.
func (w *owner) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps++
	f()
	w.attend()
	if w.alarm != nil {
		w.alarm.Stop()
		w.alarm = nil
	}
	if at := w.Compactor.Wake(); !at.IsZero() {
		w.alarm = time.AfterFunc(at.Sub(w.now()), func() { w.do(func() { w.Compactor.Check(context.Background()) }) })
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *owner) until(ctx context.Context, done func() bool) error {
	for {
		w.mu.Lock()
		ok := done()
		changed := w.changed
		w.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait returns when nothing runs and nothing is due.
func (w *owner) Wait(ctx context.Context) error {
	return w.until(ctx, func() bool { return !w.Compactor.Busy() })
}

// Filled waits until no placeholder is being filled, whatever the worker does.
func (w *owner) Filled() { _ = w.until(context.Background(), func() bool { return !w.Filling() }) }

func (w *owner) Drain(ctx context.Context) error {
	w.do(w.Compactor.Drain)
	return w.Wait(ctx)
}

func (w *owner) Close() {
	w.do(func() { w.Compactor.Close() })
	w.children.Wait()
	w.do(func() {})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alarm != nil {
		w.alarm.Stop()
	}
}

// Compact waits until it is known whether a job starts.
func (w *owner) Compact(trigger compactor.Trigger, focus string) compactor.Event {
	began, _ := w.request(compactor.Requested{Trigger: trigger, Focus: focus})
	return began
}

func (w *owner) request(wanted compactor.Requested) (began compactor.Event, p *compactor.Progress) {
	w.do(func() { p = w.Compactor.Compact(wanted) })
	_ = w.until(context.Background(), func() bool {
		began = p.Began
		return began.State != ""
	})
	return began, p
}

func get[T any](w *owner, f func() T) (v T) {
	w.do(func() { v = f() })
	return v
}

func try[T any](w *owner, ctx context.Context, f func(context.Context) (T, error)) (v T, err error) {
	w.do(func() { v, err = f(ctx) })
	return v, err
}

func (w *owner) Status() compactor.Status {
	return get(w, func() compactor.Status { return w.Compactor.StatusReader()() })
}
func (w *owner) Busy() bool                { return get(w, w.Compactor.Busy) }
func (w *owner) Count() transcript.Count   { return get(w, w.Compactor.Count) }
func (w *owner) Sight() []llm.Message      { return get(w, w.Compactor.Sight) }
func (w *owner) Prospect() string          { return get(w, w.Compactor.Prospect) }
func (w *owner) Speak()                    { w.do(w.Compactor.Speak) }
func (w *owner) Answered()                 { w.do(w.Compactor.EndTurn) }
func (w *owner) Reread()                   { w.do(func() { _ = w.Compactor.Changed(context.Background()) }) }
func (w *owner) Check(ctx context.Context) { w.do(func() { w.Compactor.Check(ctx) }) }
func (w *owner) Reported(u llm.Usage)      { w.do(func() { w.Compactor.Reported(u) }) }
func (w *owner) History() ownedHistory     { return ownedHistory{w} }

func (w *owner) Overflow(ctx context.Context, times int) bool {
	return get(w, func() bool { return w.Compactor.Overflow(ctx, times) })
}

func (w *owner) Request(ctx context.Context) (compactor.Prompt, error) {
	return try(w, ctx, w.Compactor.Request)
}

func (w *owner) Undo(ctx context.Context) (compactor.Event, error) {
	return w.UndoOnly(ctx, 0)
}

// UndoOnly undoes the latest act if a summary is of it.
func (w *owner) UndoOnly(ctx context.Context, only int64) (compactor.Event, error) {
	return try(w, ctx, func(ctx context.Context) (compactor.Event, error) { return w.Compactor.Undo(ctx, only) })
}

func (w *owner) StartSession(ctx context.Context) (bool, error) {
	return try(w, ctx, w.Compactor.StartSession)
}

func (w *owner) Recap(ctx context.Context, focus string) (compactor.Recap, error) {
	recap, err := try(w, ctx, func(ctx context.Context) (func(context.Context) (compactor.Recap, error), error) {
		return w.Compactor.Recap(ctx, focus, 0)
	})
	if err != nil {
		return compactor.Recap{}, err
	}
	return recap(ctx)
}

func (w *owner) Briefing(ctx context.Context, tokens int, question chat.Message) (string, error) {
	write, err := try(w, ctx, func(ctx context.Context) (func() string, error) {
		return w.Compactor.Briefing(ctx, tokens, question)
	})
	if err != nil {
		return "", err
	}
	return write(), nil
}

// ownedHistory is the history of an engine that has an owner.
type ownedHistory struct {
	w *owner
}

func (h ownedHistory) Next() int64                { return get(h.w, h.w.Compactor.View).Next }
func (h ownedHistory) Stored()                    { h.w.do(func() { h.w.Compactor.Received() }) }
func (h ownedHistory) Truncate(seq int64)         { h.w.do(func() { h.w.Compactor.Discard(seq) }) }
func (h ownedHistory) ContextNotStored()          { h.w.do(h.w.Compactor.ContextNotStored) }
func (h ownedHistory) Append(all ...chat.Message) { h.w.do(func() { h.w.Compactor.Add(all...) }) }
func (h ownedHistory) Begin(c compactor.Context, version int64) bool {
	return get(h.w, func() bool { return h.w.Compactor.BeginTurn(c, version) })
}

func (h ownedHistory) version() (version int64) {
	return get(h.w, h.w.Compactor.View).Head.Version
}

func (h ownedHistory) Deprived(seq int64) bool {
	m, found := get(h.w, h.w.Compactor.View).At(seq)
	return found && m.Deprived
}

func (h ownedHistory) Context() (c compactor.Context, version int64) {
	h.w.do(func() { c, version = h.w.Compactor.TurnContext() })
	return c, version
}

func wordyWorker(rest string) *llmtest.Model {
	return &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return summary(fmt.Sprintf("Summary %d. %s", n, rest)), nil
	}}
}

func goodSummary(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	return summary(fmt.Sprintf("Summary %d of %s, %s.", n, spanOf(req), wordsOf(req))), nil
}

var lastRequest = regexp.MustCompile(`messages #\d+ to #\d+`)

func spanOf(req llm.Request) string {
	text := req.Messages[1].Text
	return lastRequest.FindString(text[max(strings.LastIndex(text, "Summarize messages"), 0):])
}

// wordsOf returns enough words of the span for a valid summary.
func wordsOf(req llm.Request) string {
	material := materialIn(req)
	if strings.Contains(material, `from="Ada"`) {
		return "in Ada's words"
	}
	words := strings.Fields(tags.ReplaceAllString(material, " "))
	return "which say " + strings.Join(words[:min(len(words), 12)], " ")
}

var tags = regexp.MustCompile(`<[^<>]*>`)

// materialIn returns the span in a worker's request, without the text for reference.
func materialIn(req llm.Request) string {
	return textBetween(req.Messages[1].Text, "<transcript>\n", "\n</transcript>")
}

func answers(answer llm.Response, err error) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(context.Context, int, llm.Request) (llm.Response, error) { return answer, err }
}

var brokenSummaries = answers(llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"})

// failing is a worker that fails while down returns true; n counts its requests.
func failing(down func(n int) bool) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if down(n) {
			return brokenSummaries(ctx, n, req)
		}
		return goodSummary(ctx, n, req)
	}
}

// withoutTools returns a worker whose server takes no tools, and which answers in text.
func withoutTools(text string) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "this model does not support tools"}
		}
		return llmtest.Say(text), nil
	}
}

func savesMemories(req llm.Request) bool {
	return slices.ContainsFunc(req.Tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })
}

var errWorker = errors.New("the test's worker fails")

// filler returns a text of about this many tokens, few of them words: only the size of texts matters, and words would take most
// of the time of a test.
func filler(tokens int) string {
	return strings.Repeat("word ", min(tokens, 10)) + strings.Repeat("- ", max(tokens-10, 0))
}
