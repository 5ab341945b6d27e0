package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestToolsThatAServerTakesNoMoreAreReportedInWords(t *testing.T) {
	poisoned := func(m llm.Message) bool { return len(m.Calls) > 0 || m.Role == llm.RoleTool || len(m.Native) > 0 }
	var moved, down bool // moved: the conversation has another model; down: that model accepts nothing at all
	refused := 0
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1].Text
		switch {
		case down || moved && slices.ContainsFunc(req.Messages, poisoned):
			refused++
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tool_call_id must match ^[a-zA-Z0-9]{9}$"}
		case !moved && strings.Contains(last, "look up"):
			return llmtest.Use(llmtest.Call("c", "recall", map[string]string{"query": "tea"})), nil
		}
		return echo(ctx, n, req)
	})
	r.say("I like green tea", true)
	r.idle()
	r.say("look up the tea", true)
	r.idle()
	moved = true
	for range 3 {
		r.say("and now?", true)
		r.idle()
	}
	expect(t, "refused requests", refused, 1)
	for i, p := range r.connector.sent {
		if p.Failure {
			t.Errorf("answer %d is %q", i, p.Text)
		}
	}
	all := r.model.Requests()
	contains(t, "what the model is sent", fmt.Sprint(all[len(all)-1].Messages), `<tool_result tool="recall">`)

	// A request that is also refused as text is not repeated, and the next turn tries it unchanged.
	down = true
	asked := len(r.model.Requests())
	r.say("hello?", true)
	r.idle()
	if n := len(r.model.Requests()) - asked; n != 1 || !r.connector.sent[len(r.connector.sent)-1].Failure {
		t.Errorf("%d requests, and then %+v", n, r.connector.sent[len(r.connector.sent)-1])
	}
	down, moved = false, false
	r.say("hello again", true)
	r.idle()
	all = r.model.Requests()
	if last := all[len(all)-1]; !slices.ContainsFunc(last.Messages, poisoned) {
		t.Error("calls are told in words still")
	}
}
