// Package memory keeps facts beyond the conversation: what workers, the bot and people save, and
// what a question recalls. It knows what memories are and how they live; their rows, and the
// messages they come from, are in package store. Package search ranks what a question finds.
package memory

import "cairn/store"

// Memories are those that a conversation may recall; it changes only its own.
type Memories struct{ c *store.Conversation }

// Of returns the memories that a conversation may recall.
func Of(c *store.Conversation) Memories { return Memories{c} }

// AllMemories are the memories of all conversations.
type AllMemories struct{ store *store.Store }

// In returns the memories of all conversations of a store.
func In(s *store.Store) AllMemories { return AllMemories{s} }

// Records are what a conversation's compactor needs: its summaries, and jobs that save memories.
type Records struct {
	store.Compactions
	c *store.Conversation
}

// Records returns what the conversation's compactor needs.
func (ms Memories) Records() Records { return Records{ms.c.Compactions(), ms.c} }
