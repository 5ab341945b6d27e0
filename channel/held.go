package channel

import (
	"context"

	"cairn/memory"
)

// While the database is rewritten, what connectors report waits in a file, see memory.Store.Hold.

// holdOr stores d in that file, or, if nothing is being rewritten, applies it.
func (h *Hub) holdOr(ctx context.Context, d memory.Delivery, apply func() error) error {
	kept, done, err := h.o.Store.Hold(ctx, d)
	defer done()
	if err != nil || kept {
		return err
	}
	return apply()
}

// applyHeld applies what was held. Messages of a connector that is closed now wait in the inbox
// for a start with it.
func (h *Hub) applyHeld(ctx context.Context, d memory.Delivery) error {
	if _, known := h.connectors[connectorOf(d.Conversation)]; !known {
		records, err := h.o.Store.Conversation(ctx, d.Conversation)
		if err == nil {
			err = records.ApplyHeld(ctx, d)
		}
		return err
	}
	if len(d.Messages) > 0 {
		if _, err := h.deliver(ctx, d.Conversation, d.Messages); err != nil {
			return err
		}
	}
	if d.Edited != nil {
		if err := h.edit(ctx, d.Conversation, *d.Edited); err != nil {
			return err
		}
	}
	if len(d.Deleted) > 0 {
		return h.delete(ctx, d.Conversation, d.Deleted)
	}
	return nil
}
