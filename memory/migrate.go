// Migrations: how the file came to its present form.

package memory

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
)

//go:embed migrations/1.sql
var migration1 string

// migrations lead from each version to the next. One that was released never changes.
var migrations = []string{migration1}

// migrate brings the file up to date. The version is read inside the transaction
// that changes it, so that of several processes one migrates and the others wait.
func migrate(ctx context.Context, db *sql.DB) (from, to int, err error) {
	to = len(migrations)
	err = transact(ctx, db, func(tx *sql.Tx) error {
		if err := tx.QueryRow("PRAGMA user_version").Scan(&from); err != nil {
			return fmt.Errorf("read version: %w", err)
		}
		if from > to {
			return tooNew(from)
		}
		for version := from + 1; version <= to; version++ {
			if _, err := tx.Exec(migrations[version-1]); err != nil {
				return fmt.Errorf("migrate to version %d: %w", version, err)
			}
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", to))
		return err
	})
	return from, to, err
}

// checkVersion refuses a file of another version than ours, and leaves it alone.
func checkVersion(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	switch {
	case version > len(migrations):
		return tooNew(version)
	case version < len(migrations):
		return errors.New("an older cairn wrote it: start the bot once to bring it up to date")
	}
	return nil
}

func tooNew(version int) error {
	return fmt.Errorf("%w (version %d, this one knows %d): update cairn", ErrNewer, version, len(migrations))
}
