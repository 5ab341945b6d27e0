// Opting out: people whom no memory may be about.

package privacy

import (
	"context"

	"cairn/store"
)

// OptOut keeps a person of this conversation's connector, by platform ID, out of all memories
// from now on, or, with out = false, no longer; changed is false if that was so already. Existing
// memories stay.
func (pr Conversation) OptOut(ctx context.Context, author, name string, out bool) (changed bool, err error) {
	err = pr.c.Update(ctx, "keep a person out of memories", func(tx *store.Tx) error {
		query, args := "DELETE FROM optouts WHERE connector = ? AND author_id = ?", []any{pr.c.Connector(), author}
		if out {
			query = "INSERT INTO optouts (connector, author_id, name, made_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
			args = append(args, name, store.Now())
		}
		result, err := tx.Exec(query, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		changed = n > 0
		return err
	})
	return changed, err
}
