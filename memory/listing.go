// Listing: which conversations there are.

package memory

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Listed is a conversation and how much was said there.
type Listed struct {
	Channel  string    `json:"channel"`
	Messages int       `json:"messages"`      // of people and the bot, without deleted ones
	Last     time.Time `json:"last,omitzero"` // when the newest of them was said; zero: there is none
}

// Listing returns all conversations, the one with the newest message first.
func (s *Store) Listing(ctx context.Context) (all []Listed, err error) {
	err = s.look(ctx, func(rows *sql.Rows) error {
		var l Listed
		var last sql.NullInt64
		err := rows.Scan(&l.Channel, &l.Messages, &last)
		if last.Valid {
			l.Last = at(last.Int64)
		}
		all = append(all, l)
		return err
	}, `SELECT c.name, count(m.id), max(m.said_at) FROM conversations c
		LEFT JOIN messages m ON m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295 AND m.deleted_at IS NULL AND m.role <> 'tool'
		GROUP BY c.id ORDER BY 3 DESC, c.name`)
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	return all, nil
}
