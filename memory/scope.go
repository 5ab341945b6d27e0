// Package memory keeps facts beyond the conversation: what workers, the bot and people save, and
// what a question recalls. It knows what memories are and how they live; their rows, and the
// messages they come from, are in package store. Package search ranks what a question finds.
package memory

import (
	"context"
	"slices"
	"strings"

	"cairn/store"
)

// Memories are those that one conversation may recall, which changes only its own, or those of all
// conversations.
type Memories struct {
	store *store.Store
	c     *store.Conversation // nil: all conversations
}

// Of returns the memories that a conversation may recall.
func Of(c *store.Conversation) Memories { return Memories{c.Store(), c} }

// In returns the memories of all conversations of a store. Only Of has Keep, Recall, Completed, Shared, Tools and Records.
func In(s *store.Store) Memories { return Memories{store: s} }

// Records are what a conversation's compactor needs: its summaries, and jobs that save memories.
type Records struct {
	store.Compactions
	c *store.Conversation
}

func (ms Memories) Records() Records { return Records{ms.c.Compactions(), ms.c} }

// Shared reports whether memories are shared at all, and whether this conversation shares them.
func (ms Memories) Shared(ctx context.Context) (on, here bool, err error) {
	here, err = store.View(ctx, ms.c, "look who may read", func(tx *store.Tx) bool { return inPool(ms.c, tx) })
	return ms.c.Store().Sharing.Load(), here, err
}

// scope is the set of conversations, by number, that a query searches. Code derives it from names and from what connectors report
// about a place, never from what a user asks for. The zero value means all of them: only the shell uses it.
type scope struct {
	own    []int64 // all of their memories
	others []int64 // only those of their memories that may be shared
}

func only(id int64) scope { return scope{own: []int64{id}} }

// where returns the condition that limits a query to the scope, and its arguments. It tests the column conversation, which has an
// index. reach is the memory's: what other conversations keep to themselves is left out.
func (s scope) where(reach string) (condition string, args []any) {
	if s.own == nil {
		return "true", nil
	}
	condition, args = "conversation IN (SELECT value FROM json_each(?))", []any{jsonList(slices.Concat(s.own, s.others))}
	if len(s.others) > 0 {
		condition, args = condition+" AND ("+reach+" = 'server' OR conversation IN (SELECT value FROM json_each(?)))", append(args, jsonList(s.own))
	}
	return condition, args
}

// scopeOf returns what the conversation recalls: its own memories; in a thread also those of its channel; in a channel those of
// its threads that all its readers may read; and, where memories are shared, those of the server's public channels.
func scopeOf(c *store.Conversation, tx *store.Tx) scope {
	in := only(c.ID())
	if channel, _ := c.HangsOn(); channel != "" {
		in.own = append(in.own, store.Values[int64](tx, "SELECT id FROM conversations WHERE name = ?", channel)...)
	} else {
		in.own = append(in.own, conversationsBelow(c, tx, c.Name(), "audience <> ''")...)
	}
	if inPool(c, tx) {
		in.others = conversationsBelow(c, tx, serverOf(c), "audience = 'server'")
	}
	return in
}

// serverOf returns the connector and server part of the name; empty if it has none.
func serverOf(c *store.Conversation) string {
	server, rest, _ := strings.Cut(c.Name(), "/")
	if rest == "" {
		return ""
	}
	return server
}

func inPool(c *store.Conversation, tx *store.Tx) bool {
	return c.Store().Sharing.Load() && serverOf(c) != "" && store.Exists(tx, "SELECT 1 FROM conversations WHERE id = ? AND audience = 'server'", c.ID())
}

// conversationsBelow returns the other conversations below a channel or a server that meet a condition and have memories.
func conversationsBelow(c *store.Conversation, tx *store.Tx, name, condition string) []int64 {
	return store.Values[int64](tx, `SELECT id FROM conversations WHERE name > ? AND name < ? AND id <> ? AND `+condition+`
		AND EXISTS (SELECT 1 FROM memories WHERE conversation = conversations.id)`, name+"/", name+"0", c.ID()) // 0 comes right after /
}

// Share sets whether the public channels of one server of one connector recall each other's memories.
func (ms Memories) Share(server bool) { ms.store.Sharing.Store(server) }
