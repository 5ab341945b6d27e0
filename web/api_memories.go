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

func (s *Server) memoryRoutes() []route {
	const one = "/api/memories/{id}"
	return []route{
		{
			method: "GET", path: "/api/memories", summary: "List memories, newest first; with q the best first", handle: s.listMemories,
			query: []param{
				{"q", "search for these words"},
				{"conversation", "only those of this one, by name"},
				{"kind", strings.Join(memory.Kinds, ", ")},
				{"about", "only those about this person, by name or id"},
				sinceParam,
				{"state", strings.Join(memory.States, ", ") + " (current)"},
				{"sort", strings.Join(memory.Sorts, ", ")},
				limitParam, offsetParam,
			}, answers: map[int]any{200: memoryList{}},
		},
		{
			method: "POST", path: "/api/memories", summary: "Remember something: 201, or 200 if it was already known", handle: s.createMemory,
			body: memoryNew{}, answers: map[int]any{200: memory.Details{}, 201: memory.Details{}, 409: nil, 422: nil},
		},
		{method: "GET", path: one, summary: "A memory, the messages it came from, and what superseded what", handle: s.showMemory, answers: map[int]any{200: memory.Details{}}},
		{method: "PATCH", path: one, summary: "Change a memory's text, pin or unpin it, forget or restore it", handle: s.patchMemory, body: memoryPatch{}, answers: map[int]any{200: memory.Details{}, 409: nil, 422: nil}},
		{method: "DELETE", path: one, summary: "Delete a memory for good; PATCH with state \"forgotten\" can be undone", handle: s.purgeMemory, answers: map[int]any{204: nil}},
	}
}

// memoryList is a page of memories.
type memoryList struct {
	Memories []memory.Memory `json:"memories"`
	Total    int             `json:"total"`
}

func (s *Server) listMemories(r *request) (any, error) {
	limit, offset := r.page()
	f := memory.Filter{
		Query: r.Get("q"), Conversation: r.Get("conversation"), Kind: r.oneOf("kind", "", memory.Kinds), About: r.Get("about"), Since: r.since(),
		State: r.oneOf("state", "current", memory.States), Sort: r.oneOf("sort", "", memory.Sorts), Limit: limit, Offset: offset,
	}
	if f.Conversation != "" {
		if _, err := s.find(r.Context(), f.Conversation); err != nil {
			return nil, err
		}
	}
	found, total, err := memory.In(s.o.Store).List(r.Context(), f)
	return memoryList{append([]memory.Memory{}, found...), total}, err
}

func (s *Server) showMemory(r *request) (any, error) {
	return memory.In(s.o.Store).Details(r.Context(), r.id())
}

// memoryNew is a memory to save.
type memoryNew struct {
	Conversation string  `json:"conversation" jsonschema:"its full name, as terminal:general; required"`
	Content      string  `json:"content" jsonschema:"one fact in a sentence that stands alone; required"`
	Kind         string  `json:"kind,omitempty" jsonschema:"what kind of memory; fact, if it is missing"`
	About        string  `json:"about,omitempty" jsonschema:"whom it is about, by name"`
	Importance   float64 `json:"importance,omitempty" jsonschema:"0 to 1; 0: as usual for the kind"`
}

func (s *Server) createMemory(r *request) (any, error) {
	var b memoryNew
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	c, err := s.find(r.Context(), b.Conversation)
	if err != nil {
		return nil, err
	}
	draft := summarize.MemoryDraft{Kind: cmp.Or(b.Kind, "fact"), Content: b.Content, About: b.About, Importance: b.Importance}
	saved, err := memory.Of(c).Keep(r.Context(), memory.KeepRequest{MemoryDraft: draft, Person: "owner", PersonID: config.WebOwner})
	switch {
	case err != nil:
		return nil, err
	case saved.Unwanted:
		return nil, problem(http.StatusConflict, "People had this forgotten, as memory %d, so it is not saved again.", saved.ID)
	}
	status := http.StatusOK
	if saved.Fresh {
		status = http.StatusCreated
		s.o.Events.Remembered(b.Conversation, saved.ID, saved.Kind, saved.Content)
	}
	m, err := memory.In(s.o.Store).Details(r.Context(), saved.ID)
	return answered{status, m}, err
}

// memoryPatch is a change of a memory.
type memoryPatch struct {
	Content *string `json:"content,omitempty" jsonschema:"another text; its sources stay"`
	Pinned  *bool   `json:"pinned,omitempty" jsonschema:"true: it neither expires nor fades"`
	State   string  `json:"state,omitempty" jsonschema:"forgotten: it is not recalled any more; active: it is again"`
}

func (s *Server) patchMemory(r *request) (any, error) {
	var p memoryPatch
	err := r.decode(&p)
	if err != nil {
		return nil, err
	}
	id, memories, change := r.id(), memory.In(s.o.Store), "changed"
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
		return nil, problem(http.StatusUnprocessableEntity, "Change one of content, pinned and state, which is \"forgotten\" or \"active\": {\"pinned\": true}.")
	}
	if err != nil {
		return nil, err
	}
	m, err := memories.Details(r.Context(), id)
	if err != nil {
		return nil, err
	}
	s.o.Events.publish(kindMemory, m.Conversation, memoryEvent{m.Conversation, m.ID, change, m.Kind, m.Content})
	return m, nil
}

func (s *Server) purgeMemory(r *request) (any, error) {
	memories := memory.In(s.o.Store)
	m, err := memories.Details(r.Context(), r.id())
	if err == nil {
		err = memories.Purge(r.Context(), m.ID)
	}
	if err != nil {
		return nil, err
	}
	s.o.Events.publish(kindMemory, m.Conversation, memoryEvent{Conversation: m.Conversation, ID: m.ID, Change: "purged"})
	return nil, nil
}

// recalled has the results of a search, best first.
type recalled struct {
	Memories []memory.Memory `json:"memories"`
	Messages []messageAnswer `json:"messages"`
}

func (s *Server) recall(r *request) (any, error) {
	if strings.TrimSpace(r.Get("q")) == "" || r.Get("conversation") == "" {
		return nil, bad("Name a question and a conversation.")
	}
	limit, _ := r.page()
	from := r.since()
	c, err := s.find(r.Context(), r.Get("conversation"))
	if err != nil {
		return nil, err
	}
	memories, _, err := memory.Of(c).List(r.Context(), memory.Filter{Query: r.Get("q"), Asker: r.Get("as"), Since: from, Limit: limit})
	if err != nil {
		return nil, err
	}
	messages, err := memory.Of(c).Recall(r.Context(), memory.Question{Text: r.Get("q"), Asker: r.Get("as"), Since: from, Limit: limit})
	return recalled{append([]memory.Memory{}, memories...), foundMessages(messages)}, err
}
