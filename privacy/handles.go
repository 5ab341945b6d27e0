// Package privacy deletes: messages with every copy of their text, what was remembered of words that
// an edit removed, what is stored about a person, and whole conversations. It is the one place that
// knows every copy.
package privacy

import (
	"context"

	"cairn/store"
)

// Conversation deletes text of a conversation.
type Conversation struct{ c *store.Conversation }

// Of returns the handle that deletes text of a conversation.
func Of(c *store.Conversation) Conversation { return Conversation{c} }

// Everyone reaches the people of all conversations, and their pending erasures.
type Everyone struct{ store Store }

// Store is the part of the database that Everyone needs.
type Store interface {
	Conversation(ctx context.Context, name string) (*store.Conversation, error)
	View(ctx context.Context, f func(*store.Tx) error) error
	Erase(ctx context.Context, f func(*store.Tx) error) error
}

// In returns the people of all conversations of a store.
func In(s Store) Everyone { return Everyone{s} }
