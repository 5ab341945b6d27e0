package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// wantPairedCalls fails unless each result follows its call, and each call has one.
func wantPairedCalls(t *testing.T, messages []llm.Message) {
	t.Helper()
	open := make(map[string]bool)
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			check.That(t, open[m.CallID], "got a result of %q without a call", m.CallID)
			delete(open, m.CallID)
			continue
		}
		check.That(t, len(open) == 0, "calls without results: %v", open)
		for _, call := range m.Calls {
			open[call.ID] = true
		}
	}
	if last := messages[len(messages)-1].Role; len(open) > 0 || last != llm.RoleUser && last != llm.RoleTool {
		t.Errorf("got last message %s and open calls %v", last, open)
	}
}

// The end of a turn's answer may reach a level: it is sent once, the turn is over, and no
// summary is posted.
func TestReplyThatReachesLevelIsSentOnce(t *testing.T) {
	r := newRig(t, nil)
	r.model.Tokens = 8000
	r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold = 0 })
	r.agent.Worker = &llmtest.Model{Func: numberedSummaries}
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n < 12 {
			return echo(ctx, n, req)
		}
		return llmtest.Say("the long answer " + strings.Repeat("word ", 4000)), nil
	}
	r.reopen()
	for i := range 12 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 300)))
		check.Require(t, len(r.connector.events) == 0 || i >= 11, "a level is reached by question %d", i)
	}
	check.NoError(t, r.hub.Drain(t.Context()))
	r.waitForReplies()
	check.Require(t, len(r.eventsIn(compactor.EventApplied)) > 0, "got no summary: the test proves nothing")
	check.Equal(t, "requests for 12 questions", len(r.model.Requests()), 12)
	sent := texts(r.connector.texts())
	check.Equal(t, "copies of the long reply", strings.Count(sent, "the long answer"), 1)
	check.Lacks(t, "sent", sent, "says summary")
}

// After an overflow between two steps of a turn, the same request is repeated and no tool runs
// twice; an earlier overflow in another step does not count.
func TestOverflowDuringTurnRunsNoToolTwice(t *testing.T) {
	const before = 30
	var w stepLog
	r := newRig(t, nil)
	r.opts.Observer = &w
	r.reopen()
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		wantPairedCalls(t, req.Messages)
		step, second := (n-before+1)/2, (n-before)%2 == 0
		switch {
		case n <= before:
			return echo(ctx, n, req)
		case !second:
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		case step > 2:
			return llmtest.Say("Noted."), nil
		}
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", step), "memory_save", map[string]any{"content": fmt.Sprintf("Ada likes tea number %d.", step), "kind": "preference"})), nil
	}
	for i := range before {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 400)))
	}
	check.Equal(t, "answer", r.ask("I like tea"), "Noted.")
	at := slices.IndexFunc(w.lines, func(line string) bool { // the prepared summary, or the one that makes room now
		return strings.HasPrefix(line, "context.compaction in turn of test:server/general: trigger=")
	})
	check.That(t, at >= 0 && slices.Contains(w.lines[at:], "turn answered"), "got steps %q", w.lines)
	check.EqualAll(t, "memories saved by the tool", r.connector.memories, []string{"Ada likes tea number 1.", "Ada likes tea number 2."})
	check.Equal(t, "copies of the question in the transcript", strings.Count(texts(r.transcript()), "user: I like tea"), 1)
}

// A message about an overflow is not an overflow.
func TestReplyAboutOverflowIsNoOverflow(t *testing.T) {
	const words = "error 400: This model's maximum context length is 10 tokens. prompt is too long: 9999 tokens > 10 maximum"
	r := newRig(t, alwaysSay(words))
	for range 2 {
		r.ask(words)
	}
	check.Len(t, "requests", r.model.Requests(), 2)
	check.Len(t, "compactions", r.connector.events, 0)
	check.EqualAll(t, "sent", r.connector.texts(), []string{words, words})
	r.wantAnswer("/context", "of 128000 tokens")
}

// A turn that was stopped during an open call is summarized like any other.
func TestStoppedTurnLeavesValidPrompt(t *testing.T) {
	r := newRig(t, nil)
	r.agent.Worker = &llmtest.Model{Func: numberedSummaries}
	stopped, waits := false, make(chan struct{}, 1)
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		wantPairedCalls(t, req.Messages)
		switch {
		case stopped:
			return echo(ctx, n, req)
		case req.Messages[len(req.Messages)-1].Role == llm.RoleTool:
			waits <- struct{}{}
			return blockUntilCanceled(ctx, n, req)
		}
		resp := llmtest.Use(llmtest.Call("a", "recall", map[string]any{"query": "tea"}), llmtest.Call("b", "recall", map[string]any{"query": "milk"}))
		resp.Message.Text = "Let me look."
		return resp, nil
	}
	r.reopen()
	r.say("what do I like?", true)
	<-waits
	r.wantAnswer("/stop", "Stopped.")
	stopped = true
	r.waitForReplies()
	for i := range 12 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 30)))
	}
	r.compact()
	r.ask("and now?")
	r.restart()
	check.HasPrefix(t, "answer", r.ask("and after a restart?"), "answer ")
}

// An overfull window is shown as such, and the bar keeps its length.
func TestContextReportsOverfullWindow(t *testing.T) {
	for used, want := range map[float64]string{1.25: "] 125.0 % (over)", 1: "] 100.0 %"} {
		c := channel.Context{Fill: channel.Fill{Used: int(4000 * used), Max: 4000, UsedPct: 100 * used}}
		first, _, _ := strings.Cut(c.String(), "\n")
		check.Equal(t, "answer", first, "["+strings.Repeat("█", 20)+want)
	}
}
