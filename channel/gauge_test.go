package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestContextSaysHowThingsStand(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		<-release
		return summing(ctx, n, req)
	}}
	r.stop()
	r.start()
	for i := range 10 {
		r.say(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 30)), true)
		r.idle()
	}
	r.says("/context", " %\n", "of 128000 tokens", "next      background at 80 % (102400 tokens)", "messages  20 in all, 20 of them as they were said",
		"running   nothing", "stack     empty")
	answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "/compact")
	if err != nil || answer.Then == nil {
		t.Fatalf("/compact: %+v, %v", answer, err)
	}
	r.says("/context", "running   summarizing 16 messages, #1 to #16 (manual)", "stack     empty")
	close(release)
	answer.Then(t.Context())
	if err := r.hub.Drain(t.Context()); err != nil { // it was applied, but may still be running
		t.Fatal(err)
	}
	r.says("/context", "running   nothing", "last      leaf by worker, messages #1 to #16: ", "4 of them as they were said",
		"stack     1, oldest first:", "leaf   level 0  #1 to #16")
}
