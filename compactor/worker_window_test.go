package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// sizeOf returns how much of the window a request takes, including its answer.
func sizeOf(req llm.Request) int {
	size := req.MaxTokens
	for _, m := range req.Messages {
		size += tokens.Estimate(m.Text) + 4
		for _, c := range m.Calls {
			size += tokens.Estimate(c.Arguments) + tokens.Estimate(c.ID) + tokens.Estimate(c.Name) + 4
		}
	}
	for _, tool := range req.Tools {
		size += tokens.Estimate(string(tool.Parameters)) + tokens.Estimate(tool.Description) + tokens.Estimate(tool.Name)
	}
	return size
}

var firstOfSpan = regexp.MustCompile(`messages #(\d+) to`)

// TestWorkerRequestsFitWindow: including rounds of memory_save, rejected summaries, reminders and
// second attempts.
func TestWorkerRequestsFitWindow(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	eager := func(n int, req llm.Request) llm.Response {
		var seq int
		fmt.Sscan(firstOfSpan.FindStringSubmatch(req.Messages[1].Text)[1], &seq)
		var calls []llm.Call
		for k := range 4 {
			calls = append(calls, llmtest.Call(fmt.Sprintf("call_%d_%d", n, k), "memory_save", map[string]any{
				"content": fmt.Sprintf("Ada decided on 1 January 2026 that she will buy thing number %d of request %d for Bob, who prefers it in blue because of the house.", k, n),
				"kind":    "decision", "messages": []int{seq},
			}))
		}
		return llmtest.Use(calls...)
	}
	const window, short = 4096, "Ada wrote a note, a word and another word. "
	for name, answer := range map[string]func(n int, req llm.Request) llm.Response{
		"it saves as long as it may": func(n int, req llm.Request) llm.Response {
			if strings.Contains(fmt.Sprint(req.Tools), "memory_save") && len(req.Messages) < 26 {
				return eager(n, req)
			}
			return summary(short)
		},
		"its summaries are too large twice": func(n int, req llm.Request) llm.Response {
			if n%3 != 0 {
				return summary(strings.Repeat(short, 200))
			}
			return summary(short)
		},
		"it is cut off, and asked once more": func(n int, req llm.Request) llm.Response {
			answer := summary(short)
			if !strings.Contains(req.Messages[1].Text, "cut off") {
				answer.FinishReason = llm.FinishLength
			}
			return answer
		},
		"it writes text, and is reminded": func(n int, req llm.Request) llm.Response {
			if n%2 == 1 {
				return llmtest.Say("<think>" + strings.Repeat("hm ", 300) + "</think>" + `summarize({"summary": "` + strings.Repeat(short, 30) + `"})`)
			}
			return summary(short)
		},
	} {
		t.Run(name, func(t *testing.T) {
			most, over := 0, 0
			worker := &llmtest.Model{Tokens: window, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
				most = max(most, sizeOf(req))
				if sizeOf(req) > window {
					over++
					return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "maximum context length", Limit: window}
				}
				return answer(n, req), nil
			}}
			r := newRig(t, window, worker)
			r.policy.PrepareThreshold = -1
			r.deliverAndWait(window*5/4/80, 80)
			check.That(t, over == 0 && r.seen(compactor.EventFailed) == 0 && r.seen(compactor.EventApplied) > 0,
				"%d requests of %d were too large, the largest %d %% of the window; %d applied, %d failed: %s",
				over, len(worker.Requests()), most*100/window, r.seen(compactor.EventApplied), r.seen(compactor.EventFailed), r.c.Status().Failed.Error)
			_, total, err := memory.Of(r.conv).List(t.Context(), memory.Filter{Limit: 1})
			check.That(t, err == nil && (!strings.Contains(name, "saves") || total >= 4), "%d memories, %v", total, err)
			r.verify()
		})
	}
}
