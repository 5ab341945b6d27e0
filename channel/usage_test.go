package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/prices"
	"cairn/store"
)

// withBilledTokens returns a model's answer with a server's token counts.
func withBilledTokens(resp llm.Response, prompt, cached, written, output int) llm.Response {
	resp.Usage = llm.Usage{Prompt: prompt, Cached: cached, Written: written, Completion: output}
	return resp
}

// cutOff is a model without an answer that is billed for this many input tokens.
func cutOff(tokens int) script {
	return returning(withBilledTokens(llm.Response{}, tokens, 0, 0, 1), &llm.Error{Kind: llm.KindTruncated, Message: "cut"})
}

// priced charges 1 per input token: 1,000,000 per million.
var priced = prices.List{"scripted": {Input: 1e6, Cached: 1e5, Write: 2e6, Output: 0}, "worker": {Input: 1e6, Cached: 1e5, Write: 2e6}}

// usageRows returns the stored rows as "day kind model requests input cached written output".
func (r *rig) usageRows() (rows []string) {
	r.t.Helper()
	for _, u := range check.Must(r.store.Usage(r.t.Context(), ""))(r.t) {
		rows = append(rows, strings.TrimSpace(fmt.Sprintln(u.Day, u.Kind, u.Model, u.Requests, u.Input, u.Cached, u.Written, u.Output)))
	}
	return rows
}

// wantUsage fails unless there is one row, of today, with these numbers.
func (r *rig) wantUsage(when, want string) {
	r.t.Helper()
	check.EqualAll(r.t, when+": rows", r.usageRows(), []string{store.Day(time.Now()) + " " + want})
}

// restartCounting restarts the bot as the program does: with the earlier usage.
func (r *rig) restartCounting() {
	r.t.Helper()
	r.opts.Used = check.Must(r.store.Usage(r.t.Context(), channel.MonthStart(time.Now())))(r.t)
	r.restart()
}

func TestUsageOfTurnsIsStored(t *testing.T) {
	call := withBilledTokens(useTool("recall", map[string]any{"question": "tea"}), 100, 10, 5, 3)
	r := newRig(t, inSteps(always(call), cutOff(200), always(withBilledTokens(llmtest.Say("here"), 300, 100, 0, 4))))
	var counted []store.Usage
	r.opts.Counted = func(u store.Usage) { counted = append(counted, u) }
	// An answer that is already paid for is not thrown away.
	r.withRules(channel.Rules{Money: channel.Money{Prices: prices.List{"scripted": {Input: 1e6}}, PerDay: 150}})
	check.Equal(t, "answer, with the budget spent before it", r.ask("where is the tea?"), "here")
	r.wantUsage("after a turn", "turn scripted 3 600 110 5 8")
	r.hub.Renew(channel.Rules{})
	r.ask("and now?")
	r.restart()
	r.wantUsage("after a restart", "turn scripted 4 900 210 5 12")
	var sum store.Usage
	for _, u := range counted {
		sum.AddAll(u)
	}
	check.That(t, len(counted) == 4 && sum.Input == 900 && counted[0].Kind == store.ForTurn && counted[0].Model == "scripted",
		"got counts %+v", counted)
}

func TestUsageOfTurnsWithoutAnAnswerIsStored(t *testing.T) {
	for name, end := range map[string]func(r *rig) error{
		"a turn that fails":                func(*rig) error { return &llm.Error{Kind: llm.KindBadRequest, Message: "no"} },
		"a turn whose question is deleted": func(r *rig) error { return r.hub.Delete(r.t.Context(), place, "m1") },
	} {
		r := newRig(t, nil)
		r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
			return withBilledTokens(llmtest.Say("late"), 50, 0, 0, 1), end(r)
		}
		r.ask("hello")
		r.wantUsage(name, "turn scripted 1 50 0 0 1")
		check.Equal(t, name+": turns answered", r.hub.Stats().Turns, 0)
	}
	asked := make(chan struct{})
	r := newRig(t, then(withBilledTokens(useTool("recall", map[string]any{"question": "tea"}), 90, 0, 0, 2), while(func(int) { close(asked) }, blockUntilCanceled)))
	r.say("hello", true)
	<-asked
	r.reopen()
	r.wantUsage("a turn interrupted by shutdown", "turn scripted 1 90 0 0 2")
}

// Of recaps and failed requests, too, without a further turn. With the worker's budget spent, no model makes them.
func TestUsageOfSummariesIsStored(t *testing.T) {
	r := newRig(t, echo).withWindow(6000)
	worker := r.withWorker(func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return withBilledTokens(summary(fmt.Sprint("Summary ", n, " of what they said, word by word.")), 1000, 0, 500, 20), nil
	})
	worker.Tokens = 6000
	r.sendLongNotes(20)
	summaries := func(want ...any) {
		t.Helper()
		r.waitForReplies()
		rows := r.usageRows()
		check.Len(t, "rows", rows, 2)
		check.Contains(t, "rows", rows[1], " summary worker "+fmt.Sprintf("%d %d 0 %d %d", want...))
	}
	n := len(worker.Requests())
	check.Require(t, n != 0, "got no summary")
	summaries(n, 1000*n, 500*n, 20*n)
	shown := r.wantAnswer("/context", fmt.Sprintf("%d tokens in (0 cached, %d written), %d out: 0.00; they saved about ", 1000*n, 500*n, 20*n))
	check.Lacks(t, "/context", shown, "saved about 0 tokens", "by extractive")
	worker.Func = cutOff(10)
	r.finished(r.runAsManager("/recap"))
	check.Len(t, "requests with that for a recap", worker.Requests(), n+1)
	summaries(n+1, 1000*n+10, 500*n, 20*n+1)

	r.hub.Renew(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 500}})
	check.Contains(t, "reply", r.ask("hello"), "The budget for today is used up")
	r.sendLongNotes(20)
	check.Lacks(t, "/context", r.wantAnswer("/context", "by extractive"), "failed")
	check.Contains(t, "recap", r.finished(r.runAsManager("/recap")), "no model may be called here for now")
	check.Len(t, "requests with a spent budget", worker.Requests(), n+1)
}

func TestContextShowsSpending(t *testing.T) {
	r := newRig(t, always(withBilledTokens(llmtest.Say("yes"), 100_000, 50_000, 0, 1000)))
	check.Lacks(t, "answer before any spending", r.run("/context"), "today", "no price")
	r.ask("hello")
	r.wantAnswer("/context", "today     1 request, 100000 tokens in (50000 cached, 0 written), 1000 out: 0.00\n", `no price  for scripted: it counts as 0; set [prices."scripted"]`)
	// A change of the prices counts immediately, including for earlier usage.
	r.hub.Renew(channel.Rules{Money: channel.Money{Prices: prices.List{"scripted": {Input: 2, Cached: 1, Output: 10}}, PerMonth: 10}})
	shown := r.wantAnswer("/context", "in total  1 request, 100000 tokens in (50000 cached, 0 written), 1000 out: 0.16\n", "budget    0.16 of 10.00 this month, in all conversations\n")
	check.Lacks(t, "answer with a price", shown, "no price")
}

// stepLog records how steps end, and what happens in them.
type stepLog struct{ check.Buffer }

func (w *stepLog) Begin(ctx context.Context, _ *observe.Step) context.Context { return ctx }

func (w *stepLog) Event(s *observe.Step, name string, attrs []slog.Attr) {
	fmt.Fprintf(w, "%s in %s of %s: %s\n", name, s.Kind, s.Conversation, attrs[0])
}

func (w *stepLog) End(s *observe.Step) {
	if s.Kind != observe.Turn {
		return
	}
	class := ""
	if s.Err != nil {
		class = ": " + channel.FailureClass(s.Err)
	}
	fmt.Fprintf(w, "turn %s%s\n", s.Attr("outcome"), class)
}

func TestTurnsAreObserved(t *testing.T) {
	var w stepLog
	r := newRig(t, echo)
	r.opts.Observer = &w
	r.reopen()
	r.ask("hello")
	for _, failure := range []error{&llm.Error{Kind: llm.KindAuth}, llm.ErrTooManyCalls, errors.New("boom")} {
		r.model.Func = failing(failure)
		r.ask("hello")
	}
	r.run("/pause")
	r.ask("hello")
	check.Equal(t, "turns", w.String(), "turn answered\nturn failed: auth\nturn failed: no_answer\nturn failed: other\nturn passed\n")
	// Every error has a class.
	all := []error{errors.New("x"), compactor.ErrSpent, compactor.ErrTooLarge, llm.ErrTooManyCalls, llm.ErrTooLong, context.Canceled}
	for _, kind := range llm.Kinds {
		all = append(all, fmt.Errorf("wrapped: %w", &llm.Error{Kind: kind}))
	}
	for _, err := range all {
		class := channel.FailureClass(err)
		check.That(t, slices.Contains(channel.FailureClasses(), class) && (class != "other" || llm.KindOf(err) == ""),
			"%v: got class %q", err, class)
	}
}
