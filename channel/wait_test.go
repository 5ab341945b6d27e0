package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// Sixty turns with replies of 30 ms and summaries of 5 s, on a clock that stands still while code
// runs: a turn that takes longer than its reply has waited.
func TestNoTurnWaitsForACompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reply, summary = 30 * time.Millisecond, 5 * time.Second
		r := newRig(t, func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
			time.Sleep(reply)
			return llmtest.Say(fmt.Sprintf("answer %d", n)), nil
		})
		r.model.Tokens = 4000
		r.agent.Worker = &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			time.Sleep(summary)
			return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": fmt.Sprintf("summary %d, of a quick brown fox", n)})), nil
		}}
		r.stop()
		r.start()
		withWorker := 0
		for i := range 60 {
			time.Sleep(300 * time.Millisecond)
			start := time.Now()
			r.say(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 12)), true)
			r.idle()
			if took := time.Since(start); took != reply {
				t.Errorf("turn %d took %v", i, took)
			}
			if r.running() {
				withWorker++
			}
		}
		if withWorker < 20 {
			t.Errorf("a worker was at work in %d turns only: the test shows little", withWorker)
		}
		noError(t, r.hub.Drain(t.Context()))
		conv := must(r.store.Conversation(t.Context(), place))(t)
		state := must(conv.Compactions().Load(t.Context()))(t)
		covered := len(state.Messages)
		for _, row := range state.Head.Stack {
			covered += row.Messages
			if row.Kind == compactor.Placeholder {
				t.Errorf("messages %d to %d are neither verbatim nor summarized", row.From, row.To)
			}
		}
		expect(t, "messages are verbatim or summarized", covered, 120)
		r.stop()
	})
}

// running reports whether the last worker event is a start.
func (r *rig) running() (running bool) {
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	for _, e := range r.connector.events {
		if e.By == compactor.ByWorker {
			running = e.State == compactor.EventStarted
		}
	}
	return running
}
