package openai_test

import (
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
	reported, resp, err := ask(t, func(x *llmtest.Exchange) { // before one that succeeds, whose usage is the response's alone
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
	check.That(t, err == nil && resp.Usage.Prompt == 30, "response %+v, %v", resp.Usage, err)
	check.EqualAll(t, "reported", reported, []llm.Usage{{Prompt: 10, Completion: 2, Cached: 4}, {Prompt: 20, Completion: 2, Cached: 4}})
	reported, _, err = ask(t, func(x *llmtest.Exchange) { // also the last one
		usage(x, 10)
		x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`)
	})
	check.That(t, err != nil && len(reported) == 4, "reported %+v, %v", reported, err)
	reported, _, err = ask(t, func(x *llmtest.Exchange) { x.Refuse(400, "", "no") }) // without the server's count
	check.That(t, err != nil && len(reported) == 0, "reported %+v, %v", reported, err)
}
