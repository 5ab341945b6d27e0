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
	r.store.ShareMemories(true)
	said := r.inbound("the pet is called Wumpus", false)
	said.Audience = channel.ServerWide
	if _, err := r.hub.Deliver(t.Context(), source, said); err != nil {
		t.Fatal(err)
	}
	if err := r.hub.Idle(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	c, err := r.store.Conversation(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	save := c.Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})[3]
	if _, err := save.Run(t.Context(), []byte(`{"content":"The pet is called Wumpus","kind":"fact","messages":[1]}`)); err != nil {
		t.Fatal(err)
	}
	ask := r.inbound("what is it called?", true)
	ask.Audience = channel.ServerWide
	if _, err := r.hub.Deliver(t.Context(), place, ask); err != nil {
		t.Fatal(err)
	}
	r.idle()
	if !strings.Contains(r.asked(), "Wumpus") {
		t.Fatalf("the model found nothing:\n%s", r.asked())
	}
	if err := r.hub.Delete(t.Context(), source, said.ID); err != nil {
		t.Fatal(err)
	}
	r.say("and now?", true)
	r.idle()
	if strings.Contains(r.asked(), "Wumpus") {
		t.Errorf("the model is shown\n%s", r.asked())
	}
}
