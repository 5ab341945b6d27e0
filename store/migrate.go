// Migrations: how a database file of an earlier version gets its current schema.

package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
)

//go:embed schema.sql
var schema string

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations lead from each version to the next. A released one never changes.
var migrations = readMigrations()

func readMigrations() []string {
	var all []string
	for {
		sql, err := migrationFiles.ReadFile(fmt.Sprintf("migrations/%d.sql", len(all)+1))
		if err != nil {
			return all
		}
		all = append(all, string(sql))
	}
}

// fills do what SQL alone cannot, after the migration to a version.
var fills = map[int]func(tx *Tx){5: reindex, 6: fillQuotes}

// upgrade brings the file up to date. It first copies a non-empty file to cairn.db.before-N beside it, where N is the version it
// gets: going back to the older cairn requires that copy. An earlier copy is replaced. No room for the copy is only logged.
func (s *Store) upgrade(ctx context.Context) error {
	var old int
	if err := transact(ctx, s.read, toRead, func(tx *Tx) { old = versionOf(tx) }); err != nil {
		return err
	}
	if old > 0 && old < len(migrations) {
		copied := fmt.Sprintf("%s.before-%d", s.path, len(migrations))
		s.removeParts(filepath.Dir(s.path))
		_, err := s.backup(ctx, copied)
		var unread sqlite3.Error
		switch {
		case errors.As(err, &unread) && errors.Is(err, ErrDamaged):
			return err // the upgrade could not read these pages either
		case err == nil:
			s.log.Info("database_upgraded", "copy", copied)
		default:
			s.log.Warn("copy_before_upgrade_failed", "error", err)
		}
	}
	return migrate(ctx, s.write)
}

// migrate brings the file up to date, or creates the schema in a new one, in one transaction.
func migrate(ctx context.Context, db *sql.DB) error {
	to := len(migrations)
	return transact(ctx, db, toWrite, func(tx *Tx) {
		from := versionOf(tx)
		if tx.err != nil || from == to {
			return // nothing is written: each start would wait for the disk three times
		}
		if from == 0 { // the schema is the result of all migrations
			tx.Do(schema)
			from = to
		}
		for version := from + 1; version <= to; version++ {
			tx.Do(migrations[version-1])
			if fill := fills[version]; fill != nil {
				fill(tx)
			}
			if tx.err != nil {
				tx.err = fmt.Errorf("migrate to version %d: %w", version, tx.err)
				return
			}
		}
		tx.Do(fmt.Sprintf("PRAGMA user_version = %d", to))
	})
}

// checkVersion rejects a file whose version is not ours, and leaves it unchanged.
func (s *Store) checkVersion(ctx context.Context) error {
	return transact(ctx, s.read, toRead, func(tx *Tx) {
		switch version := versionOf(tx); {
		case version == 0:
			tx.Fail(fmt.Errorf("%s: %w: it is empty", databaseName, ErrNotFound))
		case version < len(migrations):
			tx.Fail(errors.New("an older cairn wrote it: start the bot once to bring it up to date"))
		}
	})
}

// versionOf reads the version of a file that is new, 0, or ours. Errors: ErrNewer, or that another program wrote the file.
func versionOf(tx *Tx) (version int) {
	var empty, ours bool
	tx.Row(`SELECT user_version,
		NOT EXISTS (SELECT 1 FROM sqlite_schema),
		EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'conversations')
		FROM pragma_user_version`).Scan(&version, &empty, &ours)
	switch {
	case version > len(migrations):
		tx.Fail(fmt.Errorf("%w (version %d, this one knows %d): update cairn", ErrNewer, version, len(migrations)))
	case version == 0 && !empty, version > 0 && !ours:
		tx.Fail(errors.New(databaseName + " is another program's database: choose another data folder"))
	}
	return version
}
