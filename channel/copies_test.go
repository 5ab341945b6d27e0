package channel_test

import (
	"context"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

func TestWhatAnotherConversationFoundOfWhatIsDeleted(t *testing.T) {
	const source = "test:server/other"
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			return llmtest.Use(llmtest.Call("c1", "memory_search", map[string]any{"query": "pet"})), nil
		}
		return llmtest.Say("I see."), nil
	})
	memory.In(r.store).Share(true)
	said := r.inbound("the pet is called Wumpus", false)
	said.Audience = channel.ServerWide
	must(r.hub.Deliver(t.Context(), source, said))(t)
	noError(t, r.hub.Idle(t.Context(), source))
	c := must(r.store.Conversation(t.Context(), source))(t)
	save := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})[3]
	must(save.Run(t.Context(), []byte(`{"content":"The pet is called Wumpus","kind":"fact","messages":[1]}`)))(t)
	ask := r.inbound("what is it called?", true)
	ask.Audience = channel.ServerWide
	must(r.hub.Deliver(t.Context(), place, ask))(t)
	r.idle()
	if !strings.Contains(r.asked(), "Wumpus") {
		t.Fatalf("the model found nothing:\n%s", r.asked())
	}
	noError(t, r.hub.Delete(t.Context(), source, said.ID))
	r.say("and now?", true)
	r.idle()
	if strings.Contains(r.asked(), "Wumpus") {
		t.Errorf("the model is shown\n%s", r.asked())
	}
}
