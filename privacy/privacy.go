// Package privacy deletes: messages with every copy of their text, what was remembered of words that an edit removed, what is
// stored about a person, and whole conversations.
package privacy

import (
	"context"

	"cairn/store"
)

// Conversation deletes text of a conversation.
type Conversation struct{ c *store.Conversation }

func Of(c *store.Conversation) Conversation { return Conversation{c} }

// Everyone reaches the people of all conversations, and their pending erasures.
type Everyone struct{ store Store }

// Store is the part of the database that Everyone needs.
type Store interface {
	Conversation(ctx context.Context, name string) (*store.Conversation, error)
	View(ctx context.Context, f func(*store.Tx)) error
	Erase(ctx context.Context, f func(*store.Tx)) error
}

func In(s Store) Everyone { return Everyone{s} }

// Apply stores a held delivery, see store.Held.Watch.
func (ps Everyone) Apply(ctx context.Context, d store.Delivery) error {
	c, err := ps.store.Conversation(ctx, d.Conversation)
	if err == nil && len(d.Messages) > 0 {
		_, err = c.Inbox().DeliverAll(ctx, d.Messages)
	}
	if err == nil && d.Edited != nil {
		_, _, err = Of(c).Edit(ctx, *d.Edited)
	}
	if err == nil && len(d.Deleted) > 0 {
		_, err = Of(c).Delete(ctx, d.Deleted)
	}
	return err
}

// OptOut keeps a person of this connector, by platform ID, out of all memories from now on, or, with out = false, no longer;
// changed is false if that was so already. Existing memories stay.
func (pr Conversation) OptOut(ctx context.Context, author, name string, out bool) (changed bool, err error) {
	return store.Update(ctx, pr.c, "keep a person out of memories", func(tx *store.Tx) bool {
		if out {
			return tx.Do("INSERT INTO optouts (connector, author_id, name, made_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
				pr.c.Connector(), author, name, store.Now())
		}
		return tx.Do("DELETE FROM optouts WHERE connector = ? AND author_id = ?", pr.c.Connector(), author)
	})
}
