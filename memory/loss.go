// Losses: what of a damaged database is missing although every page of it could be read.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mattn/go-sqlite3"
)

// lost returns ErrDamaged if the database to, which was made of the rows of from, lacks
// some that anything else still knows of. SQLite notices a page that makes no sense, and
// not one that has lost rows or was never written in its newest form.
func lost(ctx context.Context, from, to string) error {
	db := open(to, readerPragmas)
	db.SetMaxOpenConns(1)
	_, err := db.ExecContext(ctx, "ATTACH ? AS old", address(from, "mode=ro"))
	if err == nil {
		err = uncounted(ctx, db)
	}
	if err == nil {
		err = none(ctx, db, missing)
	}
	if err == nil {
		err = none(ctx, db, unsaid)
	}
	return errors.Join(err, db.Close())
}

// uncounted holds the tables against those of their old indexes that can be read: each
// index has an entry for every row.
func uncounted(ctx context.Context, db *sql.DB) error {
	indexes := map[string][]string{}
	rows, err := db.QueryContext(ctx, `SELECT t.name, i.name FROM main.sqlite_schema t, pragma_index_list(t.name, 'old') i WHERE t.type = 'table' AND NOT i.partial`)
	if err != nil {
		return err
	}
	err = scanAll(rows, func(rows *sql.Rows) error {
		var table, index string
		err := rows.Scan(&table, &index)
		if !slices.Contains(derived, table) {
			indexes[table] = append(indexes[table], index)
		}
		return err
	})
	if err != nil {
		return err
	}
	for table, all := range indexes {
		var is int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM main."+table).Scan(&is); err != nil {
			return err
		}
		for _, index := range all {
			var was, zero int
			// count(*) alone would be taken from the smallest index, whichever is named.
			err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*), 0 FROM old.%s INDEXED BY %s", table, index)).Scan(&was, &zero)
			if err != nil && !unreadable(err) {
				return err
			}
			if err == nil && was > is {
				return lack("%s lack %d rows", table, was-is)
			}
		}
	}
	return nil
}

// missing finds the conversations whose seqs have holes, or end before what is made of
// them: none is ever left out, a deleted message is a tombstone, and a purge, which takes
// all, lets the segment begin behind them.
const missing = `WITH known (conversation, seq) AS (
		SELECT id, segment_start FROM conversations WHERE segment_start < next_seq
		UNION ALL SELECT id, next_seq - 1 FROM conversations WHERE segment_start < next_seq
		UNION ALL SELECT conversation, from_seq FROM segments
		UNION ALL SELECT conversation, to_seq FROM segments
		UNION ALL SELECT conversation, from_seq FROM compactions
		UNION ALL SELECT conversation, to_seq FROM compactions
		UNION ALL SELECT message >> 32, message & 4294967295 FROM memory_sources
		UNION ALL SELECT conversation, seq FROM messages),
	counted (conversation, n) AS (
		SELECT conversation, max(seq) - min(seq) + 1 - (SELECT count(*) FROM messages m
			WHERE m.id BETWEEN known.conversation << 32 AND known.conversation << 32 | 4294967295) FROM known GROUP BY conversation)
	SELECT coalesce((SELECT name FROM conversations WHERE id = conversation), ''), printf('%d of its messages are missing', n) FROM counted WHERE n > 0`

// unsaid finds a message in the old search index that is not there.
const unsaid = `SELECT c.name, printf('the message #%d is missing', t.seq) FROM main.conversations c JOIN old.message_terms t ON t.conversation = c.id
	WHERE t.seq BETWEEN 1 AND 4294967295 AND NOT EXISTS (SELECT 1 FROM main.messages WHERE id = t.conversation << 32 | t.seq) LIMIT 1`

// none returns an error if a query finds something, a conversation's name and a sentence.
func none(ctx context.Context, db *sql.DB, query string) error {
	var conversation, what string
	switch err := db.QueryRowContext(ctx, query).Scan(&conversation, &what); {
	case err == nil:
		return lack("%s: %s", conversation, what)
	case errors.Is(err, sql.ErrNoRows), unreadable(err):
		return nil
	default:
		return err
	}
}

// unreadable tells of an error that it is the damage itself: what is damaged tells nothing.
func unreadable(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrIoErr)
}

func lack(what string, args ...any) error {
	return fmt.Errorf("%w: %s: `cairn restore FILE` puts a backup in its place", ErrDamaged, fmt.Sprintf(what, args...))
}
