// Applies held deliveries if no bot is running to do it.

package privacy

import (
	"context"

	"cairn/store"
)

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
