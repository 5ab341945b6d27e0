package memory_test

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

func TestPersonByName(t *testing.T) {
	c := storetest.Imported(t, 4)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 4 }})
	check.Must(storetest.Call(tools, "memory_save", `{"content": "Bob is tall", "kind": "fact", "messages": [2], "about": "bob"}`))(t)
	if m, err := memory.In(c.Store()).Details(ctx, 1); err != nil || m.About != "Bob" || m.AboutID != "1" || m.SpeakerID != "0" {
		t.Errorf("%+v, %v", m, err)
	}
	two := storetest.NewConversation(t)
	for i, id := range []string{"u1", "u2"} {
		one := storetest.Said(2*i+2, "hello")
		one.AuthorID = id
		storetest.Deliver(t, two, one)
	}
	check.Must(memory.Of(two).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Ann is tall", About: "ann"}, Person: "Bob", PersonID: "u3"}))(t)
	if m, err := memory.In(two.Store()).Details(ctx, 1); err != nil || m.About != "Ann" || m.AboutID != "" {
		t.Errorf("two people with the name: %+v, %v", m, err)
	}
}
