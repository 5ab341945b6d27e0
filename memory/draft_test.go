package memory_test

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

// A memory records its place and author; no model can set them.
func TestModelCannotSetOriginOrAuthor(t *testing.T) {
	c := storetest.Imported(t, 4)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 4 }})
	check.Must(storetest.Call(tools, "memory_save", `{"content": "Ann rows", "kind": "fact", "messages": [2], "speaker": "Bob", "speaker_id": "1", "about_id": "9", "conversation": "discord:1/1", "channel": "x", "reach": "channel", "pinned": true, "by": "person", "state": "forgotten"}`))(t)
	m, _, err := memory.In(c.Store()).Get(ctx, 1)
	if err != nil || m.Speaker != "Ann" || m.SpeakerID != "0" || m.AboutID != "0" || m.Conversation != c.Name() || m.Pinned || m.By != "assistant" || m.State != "active" || m.Reach != "server" {
		t.Errorf("%+v, %v", m, err)
	}
	check.Must(storetest.Call(tools, "memory_save", `{"content": "Bob is tall", "kind": "fact", "messages": [2], "about": "bob"}`))(t)
	if m, _, err := memory.In(c.Store()).Get(ctx, 2); err != nil || m.About != "Bob" || m.AboutID != "1" || m.SpeakerID != "0" {
		t.Errorf("%+v, %v", m, err)
	}
	two := storetest.NewConversation(t)
	for i, id := range []string{"u1", "u2"} {
		one := storetest.Said(2*i+2, "hello")
		one.AuthorID = id
		storetest.Deliver(t, two, one)
	}
	check.Must(memory.Of(two).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Ann is tall", About: "ann"}, Person: "Bob", PersonID: "u3"}))(t)
	if m, _, err := memory.In(two.Store()).Get(ctx, 1); err != nil || m.About != "Ann" || m.AboutID != "" {
		t.Errorf("two people with the name: %+v, %v", m, err)
	}
}
