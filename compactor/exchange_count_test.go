package compactor_test

import (
	"fmt"
	"testing"

	"cairn/compactor"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

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
	r := newRig(t, 100_000, nil, func(o *compactor.Options) {
		o.Worker = check.Must(openai.New(server.Options(openai.Options{})))(t)
	})
	r.policy.MaxTurns = turns
	r.chat(12)
	check.Equal(t, "outcome", r.compact("").State, compactor.EventFailed)
	check.That(t, refused > 1, "%d requests are refused", refused)
	check.Equal(t, "answered requests", answered, turns)
}
