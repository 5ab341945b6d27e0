// Review: what the store knows about the newest messages, for comparison with the platform.

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Known is a message as it was stored.
type Known struct {
	ID     string
	Edited time.Time // by the platform's clock; zero: no edit is known
}

// reviewRows limits how far back Recent looks, in rows of the transcript.
const reviewRows = 500

// Recent returns at most limit of the newest messages of people, in no particular order: those
// sent since a time and stored before another. Deleted ones are left out.
func (tr Transcript) Recent(ctx context.Context, since, before time.Time, limit int) ([]Known, error) {
	low, high := tr.c.RowRange(1, MaxSeq)
	recent, err := selectAlone(ctx, tr.c.store, func(rows *sql.Rows, m *Known) error {
		var edited int64
		err := rows.Scan(&m.ID, &edited)
		m.Edited = atOrZero(edited)
		return err
	}, fmt.Sprintf(`SELECT platform_id, edited FROM (
			SELECT platform_id, coalesce(edited_at, 0) AS edited, said_at, received_at AS saved_at FROM inbox WHERE conversation = ?1
			UNION ALL SELECT * FROM (SELECT platform_id, coalesce(edited_at, 0), said_at, saved_at FROM
				(SELECT * FROM messages WHERE id BETWEEN ?2 AND ?3 ORDER BY id DESC LIMIT %d) WHERE role = 'user' AND platform_id <> '' AND deleted_at IS NULL)
		) WHERE said_at >= ?4 AND saved_at <= ?5 ORDER BY said_at DESC LIMIT ?6`, reviewRows), tr.c.id, low, high, since.UnixMilli(), before.UnixMilli(), limit)
	return recent, tr.c.Fail("look for recent messages", err)
}
