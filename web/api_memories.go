// API routes: memories and search.

package web

import (
	"cmp"
	"net/http"
	"strings"

	"cairn/compactor/summarize"
	"cairn/config"
	"cairn/memory"
)

type memoryList struct {
	Memories []memory.Memory `json:"memories"`
	Total    int             `json:"total"`
}

func (s *Server) listMemories(r *request) (memoryList, error) {
	limit, offset := r.page()
	f := memory.Filter{
		Query: r.Get("q"), Conversation: r.Get("conversation"), Kind: r.Get("kind"), About: r.Get("about"), Since: r.since(),
		State: cmp.Or(r.Get("state"), "current"), Sort: r.Get("sort"), Limit: limit, Offset: offset,
	}
	if f.Conversation != "" {
		if _, err := s.find(r.Context(), f.Conversation); err != nil {
			return memoryList{}, err
		}
	}
	found, total, err := memory.In(s.o.Store).List(r.Context(), f)
	return memoryList{listOf(found), total}, err
}

func (s *Server) showMemory(r *request) (memory.Details, error) {
	return memory.In(s.o.Store).Details(r.Context(), r.id("id"))
}

type memoryNew struct {
	Conversation string  `json:"conversation" jsonschema:"its full name, as terminal:general; required"`
	Content      string  `json:"content" jsonschema:"one fact in a sentence that stands alone; required"`
	Kind         string  `json:"kind,omitempty" jsonschema:"what kind of memory; fact, if it is missing"`
	About        string  `json:"about,omitempty" jsonschema:"whom it is about, by name"`
	Importance   float64 `json:"importance,omitempty" jsonschema:"0 to 1; 0: as usual for the kind"`
}

func (s *Server) createMemory(r *request, b memoryNew) (m memory.Details, err error) {
	c, err := s.find(r.Context(), b.Conversation)
	if err != nil {
		return m, err
	}
	draft := summarize.MemoryDraft{Kind: cmp.Or(b.Kind, "fact"), Content: b.Content, About: b.About, Importance: b.Importance}
	saved, err := memory.Of(c).Keep(r.Context(), memory.KeepRequest{MemoryDraft: draft, Person: "owner", PersonID: config.WebOwner})
	switch {
	case err != nil:
		return m, err
	case saved.Unwanted:
		return m, problem(http.StatusConflict, "People had this forgotten, as memory %d, so it is not saved again.", saved.ID)
	case saved.Fresh:
		r.status = http.StatusCreated
		s.o.Events.Remembered(b.Conversation, saved.ID, saved.Kind, saved.Content)
	}
	return memory.In(s.o.Store).Details(r.Context(), saved.ID)
}

type memoryPatch struct {
	Content *string `json:"content,omitempty" jsonschema:"another text; its sources stay"`
	Pinned  *bool   `json:"pinned,omitempty" jsonschema:"true: it neither expires nor fades"`
	State   string  `json:"state,omitempty" jsonschema:"forgotten: it is not recalled any more; active: it is again"`
}

func (s *Server) patchMemory(r *request, p memoryPatch) (m memory.Details, err error) {
	id, memories, change := r.id("id"), memory.In(s.o.Store), "changed"
	switch {
	case p.Content != nil && p.Pinned == nil && p.State == "":
		err = memories.Edit(r.Context(), id, *p.Content)
	case p.Content == nil && p.Pinned != nil && p.State == "":
		err = memories.Pin(r.Context(), id, *p.Pinned)
	case p.Content == nil && p.Pinned == nil && p.State == "forgotten":
		change, err = "forgotten", memories.Forget(r.Context(), id)
	case p.Content == nil && p.Pinned == nil && p.State == "active":
		change, err = "restored", memories.Restore(r.Context(), id)
	default:
		return m, invalid("Change one of content, pinned and state, which is \"forgotten\" or \"active\": {\"pinned\": true}.")
	}
	if err != nil {
		return m, err
	}
	if m, err = memories.Details(r.Context(), id); err == nil {
		s.o.Events.publish(kindMemory, m.Conversation, memoryEvent{m.Conversation, m.ID, change, m.Kind, m.Content})
	}
	return m, err
}

func (s *Server) purgeMemory(r *request) (any, error) {
	memories := memory.In(s.o.Store)
	m, err := memories.Details(r.Context(), r.id("id"))
	if err == nil {
		err = memories.Purge(r.Context(), m.ID)
	}
	if err == nil {
		s.o.Events.publish(kindMemory, m.Conversation, memoryEvent{Conversation: m.Conversation, ID: m.ID, Change: "purged"})
	}
	return nil, err
}

// recalled has the results of a search, best first.
type recalled struct {
	Memories []memory.Memory `json:"memories"`
	Messages []messageAnswer `json:"messages"`
}

func (s *Server) recall(r *request) (found recalled, err error) {
	q, asker, since := r.Get("q"), r.Get("as"), r.since()
	if strings.TrimSpace(q) == "" || r.Get("conversation") == "" {
		return found, bad("Name a question and a conversation.")
	}
	limit, _ := r.page()
	c, err := s.find(r.Context(), r.Get("conversation"))
	if err != nil {
		return found, err
	}
	memories, _, e1 := memory.Of(c).List(r.Context(), memory.Filter{Query: q, Asker: asker, Since: since, Limit: limit})
	messages, e2 := memory.Of(c).Recall(r.Context(), memory.Question{Text: q, Asker: asker, Since: since, Limit: limit})
	return recalled{listOf(memories), foundMessages(messages)}, cmp.Or(e1, e2)
}
