// Scopes: which conversations a query reads. This is the only place that turns one into SQL.

package store

import (
	"cmp"
	"slices"
)

// Scope says whose memories a query reads. Code derives it from names and from what connectors report about a place, never from what a user
// asks for. The zero value means those of all conversations: only the shell and the dashboard use it.
type Scope struct {
	Of      *Conversation // all of its own
	Channel string        // of a thread: the name of its channel, whose memories it has too; "": none
	Threads bool          // also those of its threads that all its readers may read
	Server  string        // also what may be shared in the public channels of a server, "connector:server"; "": none
}

// scopeIDs are the numbers of a scope's conversations.
type scopeIDs struct {
	all    bool
	full   []int64 // all of their memories
	shared []int64 // only those of their memories that may be shared
}

// where returns the condition that limits a query to the scope, and its arguments. It tests the column conversation, which has an
// index. reach is the memory's: what other conversations keep to themselves is left out.
func (in scopeIDs) where(reach string) (condition string, args []any) {
	if in.all {
		return "true", nil
	}
	condition = "conversation IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
	args = []any{listOf(slices.Concat(in.full, in.shared))}
	if len(in.shared) > 0 {
		condition += " AND (" + reach + " = 'server' OR conversation IN (SELECT CAST(value AS BIGINT) FROM json_each(?)))"
		args = append(args, listOf(in.full))
	}
	return condition, args
}

func (t *Tx) resolve(s Scope) (in scopeIDs) {
	if s.Of == nil {
		in.all = true
		return in
	}
	in.full = []int64{s.Of.id}
	if s.Channel != "" {
		in.full = append(in.full, listValues[int64](t, "SELECT id FROM conversations WHERE name = ?", s.Channel)...)
	}
	if s.Threads {
		in.full = append(in.full, t.below(s.Of.name, s.Of, "audience <> ''")...)
	}
	if s.Server != "" {
		in.shared = t.below(s.Server, s.Of, "audience = 'server'")
	}
	return in
}

// below returns the conversations below a channel or a server that meet a condition and have memories, except one.
func (t *Tx) below(name string, except *Conversation, condition string) []int64 {
	return listValues[int64](t, `SELECT id FROM conversations WHERE name > ? AND name < ? AND id <> ? AND `+condition+`
		AND EXISTS (SELECT 1 FROM memories WHERE conversation = conversations.id)`, name+"/", name+"0", except.id) // 0 comes right after /
}

// Public reports whether everybody on its server may read the conversation.
func (t *Tx) Public(c *Conversation) bool {
	return exists(t, "SELECT 1 FROM conversations WHERE id = ? AND audience = 'server'", c.id)
}

// Audience returns who may read the conversation.
func (t *Tx) Audience(c *Conversation) Audience {
	return cmp.Or(getValue[Audience](t, "SELECT audience FROM conversations WHERE id = ?", c.id), Members)
}

// listOf returns a list as an argument for json_each, which makes a row from null.
func listOf[T int64 | string](list []T) string { return encode(append([]T{}, list...)) }

// EnsureConversation returns the conversation with that name, and creates it if necessary.
func (t *Tx) EnsureConversation(name string) *Conversation {
	t.do("INSERT INTO conversations (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", name, nowMillis())
	c := t.Conversation(name)
	t.Enter(c)
	return c
}
