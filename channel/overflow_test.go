package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor"
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
	r.model.Func = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n < 12 {
			return llmtest.Say(fmt.Sprint("answer ", n)), nil
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
	applied := false
	for _, e := range r.connector.events {
		applied = applied || e.State == compactor.EventApplied
	}
	check.Require(t, applied, "got no summary: the test proves nothing")
	check.Equal(t, "requests for 12 questions", len(r.model.Requests()), 12)
	long := 0
	for _, text := range r.connector.texts() {
		long += strings.Count(text, "the long answer")
		check.Lacks(t, "sent", text, "says summary")
	}
	check.Equal(t, "copies of the long reply", long, 1)
}

// After an overflow between two steps of a turn, the same request is repeated and no tool runs
// twice; an earlier overflow in another step does not count.
func TestOverflowDuringTurnRunsNoToolTwice(t *testing.T) {
	var w stepLog
	r := newRig(t, nil)
	r.opts.Observer = &w
	r.reopen()
	overflows := 0
	steps := 0
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		wantPairedCalls(t, req.Messages)
		if n <= 30 {
			return llmtest.Say(fmt.Sprint("answer ", n)), nil
		}
		if overflows < 1 {
			overflows++
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		}
		overflows = 0
		steps++
		if steps > 2 {
			return llmtest.Say("Noted."), nil
		}
		resp := llmtest.Use(llmtest.Call(fmt.Sprint("c", steps), "memory_save", map[string]any{"content": fmt.Sprintf("Ada likes tea number %d.", steps), "kind": "preference"}))
		return resp, nil
	}
	for i := range 30 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 400)))
	}
	r.ask("I like tea")
	if texts := r.connector.texts(); texts[len(texts)-1] != "Noted." {
		t.Fatalf("got answer %q", texts[len(texts)-1])
	}
	at := slices.IndexFunc(w.lines, func(line string) bool { // the prepared summary, or the one that makes room now
		return strings.HasPrefix(line, "context.compaction in turn of test:server/general: trigger=")
	})
	check.That(t, at >= 0 && slices.Contains(w.lines[at:], "turn answered"), "got steps %q", w.lines)
	for n := 1; n <= 2; n++ {
		check.Equal(t, "memories saved by the tool", strings.Count(strings.Join(r.connector.memories, "\n"), fmt.Sprintf("Ada likes tea number %d.", n)), 1)
	}
	asked := 0
	for _, row := range r.transcript() {
		if row == "user: I like tea" {
			asked++
		}
	}
	check.Equal(t, "copies of the question in the transcript", asked, 1)
}

// A message about an overflow is not an overflow.
func TestReplyAboutOverflowIsNoOverflow(t *testing.T) {
	r := newRig(t, nil)
	const words = "error 400: This model's maximum context length is 10 tokens. prompt is too long: 9999 tokens > 10 maximum"
	r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say(words), nil }
	for range 3 {
		r.ask(words)
	}
	check.Equal(t, "requests", len(r.model.Requests()), 3)
	check.Len(t, "requests", r.connector.events, 0)
	check.EqualAll(t, "sent", r.connector.texts(), []string{words, words, words})
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
			return llmtest.Say(fmt.Sprint("answer ", n)), nil
		case req.Messages[len(req.Messages)-1].Role == llm.RoleTool:
			waits <- struct{}{}
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
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
	r.ask("and after a restart?")
	check.HasPrefix(t, "last piece sent", r.lastText(), "answer ")
}

// An overfull window is shown as such, and the bar keeps its length.
func TestContextReportsOverfullWindow(t *testing.T) {
	c := channel.Context{Fill: channel.Fill{Used: 5000, Max: 4000, UsedPct: 125}}
	first, _, _ := strings.Cut(c.String(), "\n")
	check.Equal(t, "answer", first, "["+strings.Repeat("█", 20)+"] 125.0 % (over)")
	c.Used, c.UsedPct = 4000, 100
	if first, _, _ := strings.Cut(c.String(), "\n"); strings.Contains(first, "over") {
		t.Errorf("got %q", first)
	}
}
