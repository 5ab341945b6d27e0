// Deliveries that were held, where no bot runs that acts on them.

package memory

import "context"

// Apply stores what was held, see store.Held.Watch.
func (ps People) Apply(ctx context.Context, d Delivery) error {
	c, err := ps.store.Conversation(ctx, d.Conversation)
	if err == nil && len(d.Messages) > 0 {
		_, err = c.Inbox().DeliverAll(ctx, d.Messages)
	}
	if err == nil && d.Edited != nil {
		_, _, err = c.Transcript().Edit(ctx, *d.Edited)
	}
	if err == nil && len(d.Deleted) > 0 {
		_, err = PrivacyOf(c).Delete(ctx, d.Deleted)
	}
	return err
}
