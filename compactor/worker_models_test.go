package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestAgentModelIsWorkerFallback(t *testing.T) {
	check.SkipUnderRace(t)
	save := func(text string) llm.Response {
		return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": text, "kind": "fact", "messages": []int{1}}))
	}
	for name, failure := range map[string]error{
		"it does not exist":        &llm.Error{Kind: llm.KindBadRequest, Status: 404, Message: "model not found"},
		"it is down":               &llm.Error{Kind: llm.KindOverloaded, Status: 503},
		"its window is too small":  &llm.Error{Kind: llm.KindOverflow, Status: 400},
		"it hangs until the limit": nil,
	} {
		onClock(t, name, func(t *testing.T) {
			var log journal
			recovered := false
			worker := &llmtest.Model{Label: "small", Tokens: 6000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				switch {
				case recovered:
					return summary("Ada took notes."), nil
				case savesMemories(req) && len(req.Messages) == 2: // it saves, and then it fails
					return save("Ada takes notes."), nil
				}
				if failure != nil {
					return llm.Response{}, failure
				}
				<-ctx.Done()
				return llm.Response{}, ctx.Err()
			}}
			other := &llmtest.Model{Label: "large", Func: answers(summary("Ada took notes."), nil)}
			r := newRig(t, 100_000, worker, func(o *compactor.Options) { o.Fallback, o.Log = other, log.logger() })
			models := []string{"large", "large", "small"}
			for i := range models {
				recovered = i == 2
				r.chat(30)
				r.applied()
			}
			r.restart()
			for i, row := range r.c.Status().Stack {
				check.Equal(t, fmt.Sprintf("model of row %d", row.ID), string(row.By)+" "+row.Model, string(compactor.ByWorker)+" "+models[i])
			}
			check.Contains(t, "log", log.String(), "worker_model_recovered")
			found := r.memories("")
			check.That(t, len(found) == 1 && found[0].Content == "Ada takes notes.", "memories %+v", found)
			check.Equal(t, "log", strings.Count(log.String(), "level=WARN msg=worker_model_failed"), 1)
		})
	}
}

func TestEachModelHasItsOwnWindow(t *testing.T) {
	slow(t)
	var read strings.Builder
	worker := &llmtest.Model{Label: "large", Func: answers(llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 404})}
	other := &llmtest.Model{Label: "small", Tokens: 4000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		read.WriteString(req.Messages[1].Text)
		check.That(t, material(req) <= 4000, "a model with a window of 4000 got %d tokens", material(req))
		return goodSummary(ctx, n, req)
	}}
	r := newRig(t, 100_000, worker, func(o *compactor.Options) { o.Fallback = other })
	r.chat(200)
	r.applied()
	n := len(other.Requests())
	check.That(t, len(worker.Requests()) == 1 && n >= 4, "got %d calls of the large model, %d of the small one", len(worker.Requests()), n)
	for i := range 196 {
		check.Contains(t, fmt.Sprintf("material with message %d", i+1), read.String(), fmt.Sprintf("note-%d ", i))
	}
}

func TestWorkerReasoningFitsWindow(t *testing.T) {
	for window, effort := range map[int]string{8000: "low", 20_000: "", 128_000: "max"} {
		r := newRig(t, window, &llmtest.Model{Func: answers(summary("They talked about notes."), nil)})
		if effort != "low" { // which is the default
			r.policy.Reasoning = effort
		}
		r.chat(40)
		r.compact("")
		for _, req := range r.worker.Requests() {
			check.Equal(t, "reasoning of the request", req.Reasoning, effort)
			sum := req.MaxTokens + req.Spare
			for _, m := range req.Messages {
				sum += tokens.Estimate(m.Text)
			}
			workers := r.worker.Window(t.Context()).Tokens
			check.That(t, req.Spare >= 1 && sum <= workers && sum >= workers/2, "%q: %d tokens, %d of the answer and %d spare in a window of %d", effort, sum, req.MaxTokens, req.Spare, workers)
		}
	}
}

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

// TestWorkerRequestsFitWindow: including rounds of memory_save, rejected summaries, reminders and second attempts.
func TestWorkerRequestsFitWindow(t *testing.T) {
	slow(t)
	eager := func(n int, req llm.Request) llm.Response {
		var seq int
		fmt.Sscan(firstOfSpan.FindStringSubmatch(req.Messages[1].Text)[1], &seq)
		var calls []llm.Call
		for k := range 4 {
			calls = append(calls, llmtest.Call(fmt.Sprintf("call_%d_%d", n, k), "memory_save", map[string]any{
				"content": fmt.Sprintf("Ada decided in her note that she will buy the word called %s for herself, and prefers it in blue because of the old house near the sea.", inLetters(int64(10*n+k))),
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
			most := 0
			over := 0
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
			r.deliverMany(window*5/4/80, 80, r.waitIdle)
			check.That(t, over == 0 && r.seen(compactor.EventFailed) == 0 && r.seen(compactor.EventApplied) > 0,
				"%d requests of %d were too large, the largest %d %% of the window; %d applied, %d failed: %s",
				over, len(worker.Requests()), most*100/window, r.seen(compactor.EventApplied), r.seen(compactor.EventFailed), r.c.Status().Failed.Error)
			n := len(r.memories(""))
			check.That(t, !strings.Contains(name, "saves") || n >= 4, "%d memories", n)
		})
	}
}
