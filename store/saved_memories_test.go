package store_test

import (
	"fmt"
	"maps"
	"slices"

	"cairn/internal/check"

	"cairn/compactor/summarize"
	"cairn/internal/storetest"
	"cairn/store"
)

// savedMemories models which memories a conversation must have, given what workers saved: each from
// messages that no worker has read before, and none before its job is stored.
type savedMemories struct {
	drafts int
	read   map[int64]bool   // messages that a worker has read
	kept   map[string]int64 // the expected memories, and the messages they come from
}

func newSavedMemories() *savedMemories {
	return &savedMemories{read: make(map[int64]bool), kept: make(map[string]int64)}
}

// draft makes a worker save one memory of a message; the job keeps it until it is stored.
func (s *savedMemories) draft(t check.Tester, j summarize.Job, seq int64) (content string) {
	t.Helper()
	s.drafts++
	content = fmt.Sprint("fact ", s.drafts)
	check.NoError(t, check.ErrorOf(storetest.Call(j.Tools(20), "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, content, seq))))
	return content
}

// store records that the job of a worker over [from, to] was stored, with these drafts by the
// messages they come from. It returns the memories that are new.
func (s *savedMemories) store(from, to int64, drafts map[string]int64) (fresh []string) {
	for _, content := range slices.Sorted(maps.Keys(drafts)) {
		if seq := drafts[content]; !s.read[seq] {
			s.kept[content] = seq
			fresh = append(fresh, content)
		}
	}
	for seq := from; seq <= to; seq++ {
		s.read[seq] = true
	}
	return fresh
}

// forget records that a message was deleted.
func (s *savedMemories) forget(seq int64) {
	maps.DeleteFunc(s.kept, func(_ string, from int64) bool { return from == seq })
}

// check fails unless the conversation has exactly those memories.
func (s *savedMemories) check(t check.Tester, c *store.Conversation) {
	t.Helper()
	found := make(map[string]int64)
	rows, err := c.Store().Reading().Query("SELECT m.content, s.message & 4294967295 FROM memories m JOIN memory_sources s ON s.memory = m.id WHERE m.conversation = ?", c.ID())
	check.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var content string
		var seq int64
		check.NoError(t, rows.Scan(&content, &seq))
		if _, twice := found[content]; twice {
			t.Errorf("got two memories %q", content)
		}
		found[content] = seq
	}
	check.NoError(t, rows.Err())
	if !maps.Equal(found, s.kept) {
		t.Errorf("got memories %v, want %v", found, s.kept)
	}
}
