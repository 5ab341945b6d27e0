// Probes: whether the database can be read and written and its file is in place, and how much is
// queued.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// inPlace returns ErrReplaced if the store's path does not lead to the file it has open: SQLite
// would continue to write to that file, and no one would find the data again.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at the database: %w", err)
	case err != nil || !os.SameFile(now, s.file):
		return fmt.Errorf("%w: put it back, or stop the bot and run `cairn restore FILE`", ErrReplaced)
	}
	return nil
}

// Readable returns nil if the database can be read.
func (u Upkeep) Readable(ctx context.Context) error {
	err := u.store.View(ctx, func(tx *Tx) error {
		_, err := versionOf(tx)
		return err
	})
	return Fail("read the database", err)
}

// Writable returns nil if the database can be written: it rewrites the version number, durably on
// disk.
func (u Upkeep) Writable(ctx context.Context) error {
	err := u.store.Update(ctx, func(tx *Tx) error {
		tx.Do(fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return nil
	})
	return Fail("write the database", err)
}

// WrittenElsewhere returns a number that changes when another process writes to the database, as
// `cairn memories purge` does: what this one has read may have changed. Other causes are rare.
func (u Upkeep) WrittenElsewhere(ctx context.Context) (number int64, err error) {
	err = u.store.write.QueryRowContext(ctx, "PRAGMA data_version").Scan(&number) // of the only connection that writes here
	return number, explain(err)
}

// Vitals are numbers about a store, for monitoring.
type Vitals struct {
	Inbox, Outbox             int            // messages not taken up yet; pieces of replies not sent yet
	InboxOldest, OutboxOldest time.Time      // since when the oldest of them has waited; zero: none is waiting
	Memories                  map[string]int // how many, by state: active, superseded, forgotten, replaced
	Bytes, LogBytes           int64          // of the database file and of its write-ahead log
	Free                      int64          // bytes free on its disk
}

// Vitals reads the numbers. It takes milliseconds: nothing it counts grows with the conversations
// except memories, and for those it reads an index.
func (u Upkeep) Vitals(ctx context.Context) (v Vitals, err error) {
	v.Memories = map[string]int{"active": 0, "superseded": 0, "forgotten": 0, "replaced": 0}
	err = u.store.View(ctx, func(tx *Tx) error {
		tx.Row(`SELECT (SELECT count(*) FROM inbox), (SELECT min(received_at) FROM inbox),
			(SELECT count(*) FROM outbox INDEXED BY outbox_unsent WHERE state IN ('waiting', 'sending')),
			(SELECT min(created_at) FROM outbox INDEXED BY outbox_unsent WHERE state IN ('waiting', 'sending'))`).
			Scan(&v.Inbox, utc(&v.InboxOldest), &v.Outbox, utc(&v.OutboxOldest))
		return Each(tx, func(rows *sql.Rows) error {
			var state string
			var n int
			err := rows.Scan(&state, &n)
			v.Memories[state] = n
			return err
		}, "SELECT state, count(*) FROM memories INDEXED BY memories_newest GROUP BY state")
	})
	if err == nil {
		err = u.store.measureFiles(&v)
	}
	return v, Fail("measure the database", err)
}

func (s *Store) measureFiles(v *Vitals) error {
	file, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	v.Bytes = file.Size()
	if log, err := os.Stat(s.path + "-wal"); err == nil { // the log may be missing
		v.LogBytes = log.Size()
	}
	v.Free, err = freeBytes(filepath.Dir(s.path))
	return err
}
