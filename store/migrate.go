// Migrations: how a database file of an earlier version gets its current schema.

package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
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
var fills = map[int]func(tx *Tx) error{5: reindex, 6: fillQuotes}

// upgrade brings the file up to date. It first copies a non-empty file to cairn.db.before-N
// beside it, where N is the version it gets: going back to the older cairn requires that copy. The
// copy of an earlier attempt, or from before the user went back, is replaced. If there is no room
// for the copy, upgrade logs that.
func (s *Store) upgrade(ctx context.Context) error {
	var old int
	err := transact(ctx, s.read, toRead, func(tx *Tx) (err error) {
		old, err = versionOf(tx)
		return err
	})
	if err != nil {
		return err
	}
	if old > 0 && old < len(migrations) {
		copied := fmt.Sprintf("%s.before-%d", s.path, len(migrations))
		s.removeParts(filepath.Dir(s.path))
		_, err := s.backup(ctx, copied, os.Rename)
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
	return transact(ctx, db, toWrite, func(tx *Tx) error {
		from, err := versionOf(tx)
		if err != nil || from == to {
			return err // nothing is written: each start would wait for the disk three times
		}
		version := from + 1
		if from == 0 { // the schema is the result of all migrations
			if _, err := tx.Exec(schema); err != nil {
				return fmt.Errorf("create the tables: %w", err)
			}
			version = to + 1
		}
		for ; version <= to; version++ {
			if _, err := tx.Exec(migrations[version-1]); err != nil {
				return fmt.Errorf("migrate to version %d: %w", version, err)
			}
			if fill := fills[version]; fill != nil {
				if err := fill(tx); err != nil {
					return fmt.Errorf("migrate to version %d: %w", version, err)
				}
			}
		}
		tx.Do(fmt.Sprintf("PRAGMA user_version = %d", to))
		return nil
	})
}

// checkVersion rejects a file whose version is not ours, and leaves it unchanged.
func (s *Store) checkVersion(ctx context.Context) error {
	return transact(ctx, s.read, toRead, func(tx *Tx) error {
		version, err := versionOf(tx)
		if err == nil && version == 0 {
			return fmt.Errorf("%s: %w: it is empty", databaseName, ErrNotFound)
		}
		if err == nil && version < len(migrations) {
			return errors.New("an older cairn wrote it: start the bot once to bring it up to date")
		}
		return err
	})
}

// versionOf reads the version of a file that is new or ours; a new one has version 0. Errors:
// ErrNewer, or that another program wrote the file.
func versionOf(tx *Tx) (version int, err error) {
	var empty, ours bool
	err = tx.QueryRow(`SELECT user_version,
		NOT EXISTS (SELECT 1 FROM sqlite_schema),
		EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'conversations')
		FROM pragma_user_version`).Scan(&version, &empty, &ours)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read version: %w", err)
	case version > len(migrations):
		return 0, fmt.Errorf("%w (version %d, this one knows %d): update cairn", ErrNewer, version, len(migrations))
	case version == 0 && !empty, version > 0 && !ours:
		return 0, errors.New(databaseName + " is another program's database: choose another data folder")
	}
	return version, nil
}
