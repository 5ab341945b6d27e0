package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

func TestAgentModelIsWorkerFallback(t *testing.T) {
	check.SkipUnderRace(t)
	for name, failure := range map[string]error{
		"it does not exist":        &llm.Error{Kind: llm.KindBadRequest, Status: 404, Message: "model not found"},
		"the key is not for it":    &llm.Error{Kind: llm.KindAuth, Status: 403},
		"it is down":               &llm.Error{Kind: llm.KindOverloaded, Status: 503},
		"its window is too small":  &llm.Error{Kind: llm.KindOverflow, Status: 400},
		"it hangs until the limit": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				worker := &llmtest.Model{Label: "small", Tokens: 6000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
					if len(req.Messages) == 2 { // it saves, and then it fails
						return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": "Ada said something.", "kind": "fact", "messages": []int{1}})), nil
					}
					if errors.Is(failure, context.DeadlineExceeded) {
						<-ctx.Done()
						return llm.Response{}, ctx.Err()
					}
					return llm.Response{}, failure
				}}
				other := &llmtest.Model{Label: "large", Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
					if len(req.Messages) == 2 {
						return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": "Ada takes notes.", "kind": "fact", "messages": []int{1}})), nil
					}
					return summary("Ada took notes."), nil
				}}
				r := tuned(t, 100_000, worker, func(o *compactor.Options) { o.Fallback, o.Log = other, log.logger() })
				for range 2 {
					r.chat(30)
					r.applied()
				}
				for _, row := range r.c.Status().Stack {
					check.Equal(t, fmt.Sprintf("row %d", row.ID), row.By, compactor.ByWorker)
					check.Equal(t, fmt.Sprintf("row %d model", row.ID), row.Model, "large")
				}
				r.restart()
				check.Equal(t, "model on disk", r.c.Status().Stack[0].Model, "large")
				found, _, err := memory.Of(r.conv).List(t.Context(), memory.Filter{})
				if err != nil || len(found) != 1 || found[0].Content != "Ada takes notes." {
					t.Errorf("memories %+v, %v", found, err)
				}
				check.Equal(t, "log", strings.Count(log.String(), "level=WARN msg=worker_model_failed"), 1)
				r.verify()
			})
		})
	}
}

func TestEachModelHasItsOwnWindow(t *testing.T) {
	check.SkipUnderRace(t)
	var read strings.Builder
	small := func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		read.WriteString(req.Messages[1].Text)
		if tokens := tokens.Estimate(req.Messages[1].Text); tokens > 4000 {
			t.Errorf("a model with a window of 4000 got %d tokens", tokens)
		}
		return goodSummary(ctx, n, req)
	}
	refuse := func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 404}
	}
	worker, other := &llmtest.Model{Label: "large", Func: refuse}, &llmtest.Model{Label: "small", Tokens: 4000, Func: small}
	r := tuned(t, 100_000, worker, func(o *compactor.Options) { o.Fallback = other })
	r.chat(200)
	r.applied()
	check.Equal(t, "calls of the large model", len(worker.Requests()), 1)
	if n := len(other.Requests()); n < 4 {
		t.Errorf("got %d calls of the small model", n)
	}
	for i := range 196 {
		check.Contains(t, fmt.Sprintf("material with message %d", i+1), read.String(), fmt.Sprintf("note-%d ", i))
	}
	r.verify()
}

func TestWorkerReasoningEffort(t *testing.T) {
	for _, effort := range []string{"low", "", "max"} {
		t.Run(fmt.Sprintf("%q", effort), func(t *testing.T) {
			r := newRig(t, 20_000, says("They talked about notes."))
			if effort != "low" { // which is the default
				r.set(func(p *compactor.Policy) { p.Reasoning = effort })
			}
			r.chat(30)
			r.compact("")
			requests := r.worker.Requests()
			check.Require(t, len(requests) != 0, "got no worker request")
			for _, req := range requests {
				check.Equal(t, "reasoning of the request", req.Reasoning, effort)
			}
		})
	}
}

func TestWorkerReasoningFitsWindow(t *testing.T) {
	for _, window := range []int{8000, 20_000, 128_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			r := newRig(t, window, says("They talked about notes."))
			r.chat(40)
			r.compact("")
			requests := r.worker.Requests()
			check.Require(t, len(requests) != 0, "got no worker request")
			for _, req := range requests {
				prompt := 0
				for _, m := range req.Messages {
					prompt += tokens.Estimate(m.Text)
				}
				sum := prompt + req.MaxTokens + req.Spare
				if workers := r.worker.Window(t.Context()).Tokens; req.Spare < 1 || sum > workers || sum < workers/2 {
					t.Errorf("%d tokens of prompt, %d of the answer and %d spare in a window of %d", prompt, req.MaxTokens, req.Spare, workers)
				}
			}
		})
	}
}

func TestRecoveredWorkerIsUsedAgain(t *testing.T) {
	var log journal
	down := true
	worker := &llmtest.Model{Label: "small", Func: goodUnless(func() bool { return down })}
	r := tuned(t, 100_000, worker, func(o *compactor.Options) {
		o.Fallback, o.Log = &llmtest.Model{Label: "large", Func: goodSummary}, log.logger()
	})
	for i, want := range []string{"large", "small"} {
		down = i == 0
		r.chat(30)
		r.compact("")
		check.Equal(t, fmt.Sprintf("row %d", i), r.c.Status().Stack[i].Model, want)
	}
	check.Contains(t, "log", log.String(), "worker_model_recovered")
}
