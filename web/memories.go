// Memories: the routes of the API, among them search.

package web

import (
	"cmp"
	"net/http"

	"cairn/compactor/summarize"
	"cairn/config"
	"cairn/memory"
	"cairn/store"
)

// MemoryList is a page of memories.
type MemoryList struct {
	Memories []memory.Memory `json:"memories"`
	Total    int             `json:"total"`
}

// memories reads and changes what the bot remembers.
type memories struct {
	store  *store.Store
	events *Events
}

func (s *memories) routes() []route {
	const one = memoriesPath + "/{id}"
	const ok, conflict, unfit = http.StatusOK, http.StatusConflict, http.StatusUnprocessableEntity
	return []route{
		read(memoriesPath, "List memories, newest first; with q the best first", s.list,
			searchParam, param{name: "conversation", text: "only those of this conversation, by name"},
			param{name: "kind", text: "what kind of memory", words: memory.Kinds},
			param{name: "about", text: "only those about this person, by name or id"}, sinceParam, untilParam,
			param{name: "state", text: "its state (default: current)", words: memory.States},
			param{name: "sort", text: "in which order", words: memory.Sorts}, limitParam, offsetParam),
		send("POST "+memoriesPath, "Save a memory: 201, or 200 if it was already known",
			s.create, ok, http.StatusCreated, conflict, unfit),
		read(one, "A memory, the messages it came from, and what superseded what", s.show),
		send("PATCH "+one, "Change a memory's text, pin or unpin it, forget or restore it", s.patch, ok, conflict, unfit),
		act("DELETE "+one, `Permanently delete a memory; PATCH with state "forgotten" can be undone`,
			s.purge, http.StatusNoContent),
		read("/api/recall", "Search memories and messages, best first, without a model", s.recall,
			param{name: "q", text: "a question or words; without, the messages of a person or a time"},
			param{name: "conversation", text: "its name; required"},
			byParam, sinceParam, untilParam, orderParam,
			param{name: "as", text: "name of the person who asks, whom \"I\" means"},
			param{name: "kind", text: "only memories of this kind, and no messages", words: memory.Kinds},
			param{name: "explain", text: "true: with the parts of each message's score", words: []string{"true"}},
			param{name: "limit", text: "at most this many memories and as many messages (default: 50)", min: 1, max: maxNumber}),
	}
}

func (s *memories) list(r *request) (MemoryList, error) {
	limit, offset := r.page()
	f := memory.Filter{
		Query: r.Get("q"), Conversation: r.Get("conversation"), Kind: r.Get("kind"), About: r.Get("about"), Since: r.since(), Until: r.until(),
		State: cmp.Or(r.Get("state"), "current"), Sort: r.Get("sort"), Limit: limit, Offset: offset,
	}
	if f.Conversation != "" {
		if _, err := findConversation(r.Context(), s.store, f.Conversation); err != nil {
			return MemoryList{}, err
		}
	}
	found, total, err := memory.In(s.store).List(r.Context(), f)
	return MemoryList{listOf(found), total}, err
}

func (s *memories) show(r *request) (memory.Details, error) {
	return memory.In(s.store).Details(r.Context(), r.id("id"))
}

type memoryNew struct {
	Conversation string  `json:"conversation" jsonschema:"its full name, as terminal:general; required"`
	Content      string  `json:"content" jsonschema:"one fact in a sentence that stands alone; required"`
	Kind         string  `json:"kind,omitempty" jsonschema:"what kind of memory; fact, if it is missing"`
	About        string  `json:"about,omitempty" jsonschema:"whom it is about, by name"`
	Importance   float64 `json:"importance,omitempty" jsonschema:"0 to 1; 0: as usual for the kind"`
}

func (s *memories) create(r *request, b memoryNew) (m memory.Details, err error) {
	c, err := findConversation(r.Context(), s.store, b.Conversation)
	if err != nil {
		return m, err
	}
	draft := summarize.MemoryDraft{Kind: cmp.Or(b.Kind, "fact"), Content: b.Content, About: b.About, Importance: b.Importance}
	saved, err := memory.Of(c).Keep(r.Context(), memory.KeepRequest{MemoryDraft: draft, Person: "owner", PersonID: config.WebOwner})
	switch {
	case err != nil:
		return m, err
	case saved.Unwanted:
		return m, problem(http.StatusConflict, "People asked to forget this (memory %d), so it is not saved again.", saved.ID)
	case saved.Fresh:
		r.status = http.StatusCreated
		s.events.Remembered(b.Conversation, saved.ID, saved.Kind, saved.Content)
	}
	return memory.In(s.store).Details(r.Context(), saved.ID)
}

type memoryPatch struct {
	Content *string `json:"content,omitempty" jsonschema:"another text; its sources stay"`
	Pinned  *bool   `json:"pinned,omitempty" jsonschema:"true: it neither expires nor fades"`
	State   string  `json:"state,omitempty" jsonschema:"forgotten: it is not recalled any more; active: it is again"`
}

func (s *memories) patch(r *request, p memoryPatch) (m memory.Details, err error) {
	id := r.id("id")
	memories := memory.In(s.store)
	change := "changed"
	switch {
	case p.Content != nil && p.Pinned == nil && p.State == "":
		err = memories.Edit(r.Context(), id, *p.Content)
	case p.Content == nil && p.Pinned != nil && p.State == "":
		err = memories.Pin(r.Context(), id, *p.Pinned)
	case p.Content == nil && p.Pinned == nil && p.State == "forgotten":
		change = "forgotten"
		err = memories.Forget(r.Context(), id)
	case p.Content == nil && p.Pinned == nil && p.State == "active":
		change = "restored"
		err = memories.Restore(r.Context(), id)
	default:
		return m, invalid("Change one of content, pinned and state, which is \"forgotten\" or \"active\": {\"pinned\": true}.")
	}
	if err != nil {
		return m, err
	}
	m, err = memories.Details(r.Context(), id)
	if err == nil {
		s.events.publish(kindMemory, m.Conversation, memoryEvent{m.Conversation, m.ID, change, m.Kind, m.Content})
	}
	return m, err
}

func (s *memories) purge(r *request) (any, error) {
	memories := memory.In(s.store)
	m, err := memories.Details(r.Context(), r.id("id"))
	if err == nil {
		err = memories.Purge(r.Context(), m.ID)
	}
	if err == nil {
		s.events.publish(kindMemory, m.Conversation, memoryEvent{Conversation: m.Conversation, ID: m.ID, Change: "purged"})
	}
	return nil, err
}

// Recalled has the results of a search, best first.
type Recalled struct {
	Memories []memory.Memory `json:"memories"`
	Messages []FoundMessage  `json:"messages"`
}

func (s *memories) recall(r *request) (found Recalled, err error) {
	limit, _ := r.page()
	q := r.question()
	q.Asker = r.Get("as")
	q.Limit = limit
	if q.IsEmpty() || r.Get("conversation") == "" {
		return found, bad("Name a conversation, and a question, a person in by, or a time in since or until.")
	}
	c, err := findConversation(r.Context(), s.store, r.Get("conversation"))
	if err != nil {
		return found, err
	}
	filter := q.Memories()
	filter.Kind = r.Get("kind")
	memories, _, err := memory.Of(c).List(r.Context(), filter)
	if err != nil || filter.Kind != "" {
		return Recalled{listOf(memories), []FoundMessage{}}, err
	}
	messages, err := memory.Of(c).Recall(r.Context(), q)
	found = Recalled{listOf(memories), foundMessages(messages)}
	for i := range messages {
		if r.Has("explain") {
			found.Messages[i].Parts = messages[i].Parts
		}
	}
	return found, err
}
