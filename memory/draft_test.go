package memory

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
)

// A memory says where it was said and by whom; no model has a say in that.
func TestWhereAndByWhomIsSetByCode(t *testing.T) {
	c := imported(t, 4)
	tools := MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return 4 }})
	check.Must(call(tools, "memory_save", `{"content": "Ann rows", "kind": "fact", "messages": [2], "speaker": "Bob", "speaker_id": "1", "about_id": "9", "conversation": "discord:1/1", "channel": "x", "reach": "channel", "pinned": true, "by": "person", "state": "forgotten"}`))(t)
	m, _, err := MemoriesIn(c.store).Get(ctx, 1)
	if err != nil || m.Speaker != "Ann" || m.SpeakerID != "0" || m.AboutID != "0" || m.Conversation != c.Name() || m.Pinned || m.By != "assistant" || m.State != "active" || m.Reach != "server" {
		t.Errorf("%+v, %v", m, err)
	}
	check.Must(call(tools, "memory_save", `{"content": "Bob is tall", "kind": "fact", "messages": [2], "about": "bob"}`))(t)
	if m, _, err := MemoriesIn(c.store).Get(ctx, 2); err != nil || m.About != "Bob" || m.AboutID != "1" || m.SpeakerID != "0" {
		t.Errorf("%+v, %v", m, err)
	}
	two := newConversation(t)
	for i, id := range []string{"u1", "u2"} {
		one := said(2*i+2, "hello")
		one.AuthorID = id
		deliver(t, two, one)
	}
	check.Must(MemoriesOf(two).Keep(ctx, KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Ann is tall", About: "ann"}, Person: "Bob", PersonID: "u3"}))(t)
	if m, _, err := MemoriesIn(two.store).Get(ctx, 1); err != nil || m.About != "Ann" || m.AboutID != "" {
		t.Errorf("two bear the name: %+v, %v", m, err)
	}
}
