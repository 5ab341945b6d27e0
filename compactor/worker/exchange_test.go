package worker_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/openai"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// TestModelBoundToItsPrefixSummarizes: its server refuses reasoning behind which anything has changed, and forced tools.
func TestModelBoundToItsPrefixSummarizes(t *testing.T) {
	t.Parallel()
	bad := llm.Call{ID: "bad", Name: "memory_save", Arguments: `{"memories": [{"content": "x", "kind": "gossip"}]}`}
	for name, c := range map[string]struct {
		turns    int
		answers  []llm.Call // one for each request; none: a text
		memories int
	}{
		"after rounds of memories":                       {10, []llm.Call{saving("a", 1, 2), saving("b", 3), saving("c", 4, 5), summarizing(whatAdaWrote)}, 5},
		"in its last call, though the force is refused":  {3, []llm.Call{saving("a", 1, 2), saving("b", 3), summarizing(whatAdaWrote)}, 3},
		"after a reminder":                               {10, []llm.Call{saving("a", 1), {}, summarizing(whatAdaWrote)}, 1},
		"after a summary that is refused":                {10, []llm.Call{saving("a", 1, 2), summarizing("Okay."), summarizing(whatAdaWrote)}, 2},
		"and corrects what could not be saved beside it": {10, []llm.Call{saving("a", 1), summarizing(whatAdaWrote), saving("b", 2)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				call := c.answers[min(n, len(c.answers)-1)]
				n++
				switch {
				case call.Name == "":
					x.Say("Ada wrote something.")
				case call.Name == "summarize" && strings.Contains(name, "beside"):
					x.UseAll(bad, call)
				default:
					x.UseAll(call)
				}
			})
			server.Behave(llmtest.ProfileOf("claude-fable-5-1"))
			r := newRig(t, check.Must(anthropic.New(server.Options(anthropic.Options{Model: "claude-fable-5-1"})))(t))
			r.assign.MaxCalls = c.turns
			r.chat(12)
			made, err := r.summarize()
			check.NoError(t, err)
			check.Equal(t, "summary", made.Text, whatAdaWrote)
			check.Equal(t, "answered requests", n, len(c.answers))
			check.Len(t, "memories", r.memories(), c.memories)
			for _, refusal := range server.Refusals() {
				check.Contains(t, "refusal", refusal, "tool_choice")
			}
		})
	}
}

// TestRefusedExchangeBeginsAnew: a server that refuses what it has answered before, for whatever reason.
func TestRefusedExchangeBeginsAnew(t *testing.T) {
	t.Parallel()
	refuses := func(req llm.Request) bool { return len(req.Messages) > 4 || req.ForceTool != "" }
	r := newRig(t, &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		switch {
		case refuses(req):
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "The block is bound to a different conversation."}
		case !savesMemories(req):
			check.Contains(t, "what is asked", req.Messages[1].Text, prompts.In(prompts.English).Reminder)
			return summary(whatAdaWrote), nil
		}
		return llmtest.Use(saving(fmt.Sprint("call_", n), n)), nil
	}})
	r.assign.MaxCalls = 3
	r.chat(12)
	made, err := r.summarize()
	check.NoError(t, err)
	check.Equal(t, "summary", made.Text, whatAdaWrote)
	check.Len(t, "memories, those of before", r.memories(), 2)
	answered := 0
	for _, req := range r.asked() {
		if !refuses(req) {
			answered++
		}
	}
	check.Equal(t, "answered requests, of max_turns", answered, 3)
}

// TestExchangeThatNeverEndsIsEnded: by words, by force and by the limit; all requests but the choice of a tool only grow.
func TestExchangeThatNeverEndsIsEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return llmtest.Use(saving(fmt.Sprint("call_", n), n)), nil
	}})
	r.assign.MaxCalls = 5
	r.assign.Memories = 2
	r.chat(12)
	check.That(t, check.ErrorOf(r.summarize()) != nil, "got a summary")
	asked := r.asked()
	check.Require(t, len(asked) == 5, "%d requests", len(asked))
	for i, req := range asked[1:] {
		names := func(req llm.Request) (names []string) {
			for _, tool := range req.Tools {
				names = append(names, tool.Name)
			}
			return names
		}
		check.EqualAll(t, "tools", names(req), names(asked[0]))
		before := asked[i].Messages
		check.That(t, reflect.DeepEqual(req.Messages[:len(before)], before), "request %d does not extend the one before", i+2)
		last := req.Messages[len(req.Messages)-1].Text
		check.Equal(t, "asked in words", strings.Contains(last, prompts.In(prompts.English).Reminder), i == 3)
		check.Equal(t, "forced", req.ForceTool != "", i == 3)
		check.Equal(t, "told that there is no room", strings.Contains(last, "no more memories can be saved"), i >= 2)
	}
}

// TestRefusedSummaryKeepsMemories: they passed their own checks. The second attempt is about the summary alone.
func TestRefusedSummaryKeepsMemories(t *testing.T) {
	t.Parallel()
	r := newRig(t, &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			cut := llmtest.Use(saving("a", 1, 2), summarizing(whatAdaWrote))
			cut.FinishReason = llm.FinishLength
			return cut, nil
		}
		check.Equal(t, "offered to save", savesMemories(req), false)
		return summary(whatAdaWrote), nil
	}})
	r.chat(12)
	check.NoError(t, check.ErrorOf(r.summarize()))
	check.Len(t, "memories", r.memories(), 2)
}

// TestRepeatedSummaryEndsExchange: a model that ignores the reason would hand in the refused summary until max_turns.
func TestRepeatedSummaryEndsExchange(t *testing.T) {
	t.Parallel()
	r := newRig(t, &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n == 1 {
			return llmtest.Use(saving("a", 1, 2)), nil
		}
		return llmtest.Use(summarizing("## Facts\n- Somebody likes harbours, gulls and boats.\n## Goals\n- They travel to Lisbon in winter.")), nil
	}})
	r.assign.MaxCalls = 10
	r.chat(12)
	check.That(t, check.ErrorOf(r.summarize()) != nil, "got a summary")
	check.That(t, len(r.asked()) <= 5, "%d requests", len(r.asked()))
}

// TestRefusedRequestIsRefundedOnce: the client and the exchange each try another form of a refused request. Together they take back
// its count once, so that a model whose summaries are refused answers
// no more often than max_turns allows.
func TestRefusedRequestIsRefundedOnce(t *testing.T) {
	t.Parallel()
	const turns = 2
	answered := 0
	refused := 0
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if x.Request.Forced != "" { // it allows a shorter answer each time
			refused++
			x.Reject(400, "invalid_request_error", fmt.Sprint("max_tokens: at most ", x.Request.MaxTokens-1))
			return
		}
		answered++
		if answered == 1 {
			x.UseAll(saving("call_1", 1))
			return
		}
		x.UseAll(summarizing("Okay.")) // which is no summary
	})
	r := newRig(t, check.Must(openai.New(server.Options(openai.Options{})))(t))
	r.assign.MaxCalls = turns
	r.chat(12)
	check.That(t, check.ErrorOf(r.summarize()) != nil, "got a summary")
	check.That(t, refused > 1, "%d requests are refused", refused)
	check.Equal(t, "answered requests", answered, turns)
}

func TestMaxCalls(t *testing.T) {
	for _, turns := range []int{1, 3, 10} {
		r := newRig(t, &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			if n%2 == 0 {
				return llmtest.Say("<think>hm</think>"), nil
			}
			return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": fmt.Sprint("fact ", n), "kind": "fact", "messages": []int{1}})), nil
		}})
		r.assign.MaxCalls = turns
		r.chat(30)
		_ = check.ErrorOf(r.summarize())
		asked := r.asked()
		check.That(t, len(asked) < turns || len(asked) == turns && asked[turns-1].ForceTool == "summarize",
			"MaxCalls %d: %d calls, the last with a choice of tools", turns, len(asked))
	}
}
