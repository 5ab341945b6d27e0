// Package memory keeps facts beyond the conversation: what workers, the bot and people save, and
// what a question recalls. It knows what memories are and how they live; their rows, and the
// messages they come from, are in package store. Package search ranks what a question finds.
package memory

import "cairn/store"

// Memories are those that one conversation may recall, which changes only its own, or those of all
// conversations.
type Memories struct {
	store *store.Store
	c     *store.Conversation // nil: all conversations
}

// Of returns the memories that a conversation may recall.
func Of(c *store.Conversation) Memories { return Memories{c.Store(), c} }

// In returns the memories of all conversations of a store. Only Of has what a conversation alone
// does: Keep, Recall, Completed, Shared, Tools and Records.
func In(s *store.Store) Memories { return Memories{store: s} }

// Records are what a conversation's compactor needs: its summaries, and jobs that save memories.
type Records struct {
	store.Compactions
	c *store.Conversation
}

// Records returns what the conversation's compactor needs.
func (ms Memories) Records() Records { return Records{ms.c.Compactions(), ms.c} }
