package openai_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// TestFailedAttemptsReportTheirUsage: the provider bills them.
func TestFailedAttemptsReportTheirUsage(t *testing.T) {
	ask := func(t *testing.T, answer func(*llmtest.Exchange)) (reported []llm.Usage, resp llm.Response, err error) {
		req := hello
		req.Failed = func(u llm.Usage) { reported = append(reported, u) }
		resp, err = connect(t, llmtest.Serve(t, answer), openai.Options{MaxRetries: 3}).Generate(t.Context(), req, nil)
		return reported, resp, err
	}
	usage := func(x *llmtest.Exchange, prompt int) {
		x.Chunk(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`, prompt)
	}
	t.Run("before one that succeeds, whose usage is the response's alone", func(t *testing.T) {
		reported, resp, err := ask(t, func(x *llmtest.Exchange) {
			usage(x, 10*x.N)
			if x.N < 3 {
				x.Write("data: {broken\n\n")
				return
			}
			x.Piece("fine")
			x.Finish("stop")
			usage(x, 30)
			x.Done()
		})
		want := []llm.Usage{{Prompt: 10, Completion: 2, Cached: 4}, {Prompt: 20, Completion: 2, Cached: 4}}
		if err != nil || !slices.Equal(reported, want) || resp.Usage.Prompt != 30 {
			t.Errorf("reported %+v, response %+v, %v", reported, resp.Usage, err)
		}
	})
	t.Run("also the last one", func(t *testing.T) {
		reported, _, err := ask(t, func(x *llmtest.Exchange) {
			usage(x, 10)
			x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`)
		})
		check.That(t, err != nil && len(reported) == 4, "reported %+v, %v", reported, err)
	})
	t.Run("no usage without the server's count", func(t *testing.T) {
		reported, _, err := ask(t, func(x *llmtest.Exchange) { x.Refuse(400, "", "no") })
		check.That(t, err != nil && len(reported) == 0, "reported %+v, %v", reported, err)
	})
}

// TestALoopCountsEverything that is billed, also for responses it turns into failures.
func TestALoopCountsEverything(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(n int) (llm.Response, error)
		want   []int
	}{
		"answers with tools and without": {func(n int) (llm.Response, error) {
			resp := llmtest.Say("fine")
			if n == 1 {
				resp = llmtest.Use(llmtest.Call("c", "look", map[string]string{}))
			}
			resp.Usage.Prompt = n
			return resp, nil
		}, []int{1, 2}},
		"an answer that is none, because the prompt fills the window": {func(int) (llm.Response, error) {
			return llm.Response{FinishReason: llm.FinishLength, Usage: llm.Usage{Prompt: 100}}, nil
		}, []int{100}},
		"a failed attempt": {func(int) (llm.Response, error) {
			return llm.Response{Usage: llm.Usage{Prompt: 7}}, errors.New("it broke")
		}, []int{7}},
	} {
		t.Run(name, func(t *testing.T) {
			var counted []int
			loop := llm.Loop{
				Model: &llmtest.Model{Tokens: 100, Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) { return c.answer(n) }}, MaxCalls: 3,
				Request: func(context.Context, int) (llm.Request, error) { return hello, nil },
				Count:   func(u llm.Usage) { counted = append(counted, u.Prompt) },
			}
			_, _ = loop.Run(t.Context()) // some fail
			check.EqualAll(t, "counted", counted, c.want)
		})
	}
}
