package web

import (
	"fmt"
	"testing"

	"cairn/channel"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/memory"
)

func TestMemories(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden = "terminal:garden"
	r.talk(garden, 2)
	c := must(r.store.Find(t.Context(), garden))
	saved := must(memory.Of(c).Keep(t.Context(), memory.KeepRequest{Person: "Ada", PersonID: "ada", MemoryDraft: summarize.MemoryDraft{Kind: "preference", Content: "Ada prefers green tea", Importance: 0.8}}))
	one := fmt.Sprintf("/api/memories/%d", saved.ID)
	list := get[memoryList](r, "/api/memories?q=tea&kind=preference&conversation=terminal:garden&since=7d")
	check.Equal(t, "memories in all", list.Total, 1)
	check.Equal(t, "memory", list.Memories[0].Content, "Ada prefers green tea")
	var m memory.Details
	if r.do(200, &m, "PATCH", one, `{"pinned": true}`); !m.Pinned {
		t.Errorf("%+v", m)
	}
	if r.do(200, &m, "PATCH", one, `{"state": "forgotten"}`); m.State != "forgotten" {
		t.Errorf("%+v", m)
	}
	r.do(409, nil, "PATCH", one, `{"state": "forgotten"}`)
	if r.do(200, &m, "PATCH", one, `{"state": "active"}`); m.State != "active" {
		t.Errorf("%+v", m)
	}
	found := get[recalled](r, "/api/recall?q=green+tea&conversation=terminal:garden")
	check.Len(t, "memories", found.Memories, 1)
	check.Equal(t, "id of the memory found", found.Memories[0].ID, saved.ID)
	r.do(204, nil, "DELETE", one, "")
	r.do(404, nil, "GET", one, "")
	for _, query := range []string{"kind=hobby", "state=gone", "sort=size", "limit=0", "limit=1000", "since=soon", "offset=-1", "knd=fact"} {
		r.do(400, nil, "GET", "/api/memories?"+query, "")
	}
}

func TestUsage(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 3)
	for by, want := range map[string]string{"model": `"model":"scripted"`, "conversation": `"conversation":"terminal:garden"`, "day": `"day":"`} {
		check.Contains(t, "usage", r.do(200, nil, "GET", "/api/usage?by="+by, ""), want, `"requests":3`)
	}
	r.do(400, nil, "GET", "/api/usage?by=moon", "")
	var spent channel.Spending
	if r.do(200, &spent, "GET", at("terminal:garden", "/usage"), ""); spent.Total.Requests != 3 {
		t.Errorf("%+v", spent)
	}
}
