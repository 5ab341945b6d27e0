// Whether the file that the store has open is still the database: its connections have pages in memory, and would not notice.

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/mattn/go-sqlite3"
)

// sampledMessages is how many messages Intact reads, spread over all of them.
const sampledMessages = 20

// firstError is the first of the errors that it was given; zero: none.
type firstError struct{ err atomic.Pointer[error] }

func (f *firstError) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *firstError) keep(err error) { f.err.CompareAndSwap(nil, &err) }

// intact reads the schema and some pages with a new connection, as the next start would.
func (s *sqlite) intact(ctx context.Context) error {
	err := s.inPlace()
	if now := fileOf(s.path + "-wal"); err == nil && s.logFile != nil && (now == nil || !os.SameFile(now, s.logFile)) {
		err = fmt.Errorf("%w: its log %s-wal is missing: start the bot again", ErrReplaced, databaseName)
	}
	if err == nil {
		err = s.readAnew(ctx)
	}
	if errors.Is(err, ErrReplaced) || errors.Is(err, ErrDamaged) {
		s.lost.keep(err)
	}
	return err
}

// explain is explain for errors of the file of this store. It keeps the first damage.
func (s *sqlite) explain(err error) error {
	err = explain(err)
	if errors.Is(err, ErrDamaged) {
		s.damage.keep(err)
	}
	return err
}

func (s *sqlite) readAnew(ctx context.Context) error {
	if err := s.readStart(ctx); err != nil {
		return err
	}
	db := open(s.path, readerPragmas)
	defer db.Close()
	return s.explain(transact(ctx, db, toRead, func(tx *Tx) {
		versionOf(tx)
		for _, table := range listValues[string](tx, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
			getValue[int](tx, `SELECT 1 FROM "`+strings.ReplaceAll(table, `"`, `""`)+`" LIMIT 1`)
		}
		for range sampledMessages {
			getValue[string](tx, `SELECT text FROM messages WHERE id >= (SELECT min(id) + abs(random() % (max(id) - min(id) + 1)) FROM messages) ORDER BY id LIMIT 1`)
		}
	}))
}

// readStart reads the first page from the file itself, because others may find it in the log. SQLite must open the file:
// closing one that another library opened would drop SQLite's locks.
func (s *sqlite) readStart(ctx context.Context) error {
	db := open(s.path, "immutable=1")
	defer db.Close()
	var version int
	err := explain(db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version))
	switch {
	case isNotDatabase(err), err == nil && version == 0:
		return fmt.Errorf("%w: another program has overwritten it: run `cairn restore FILE`", ErrDamaged)
	case errors.Is(err, ErrDamaged): // a checkpoint that a reader interrupted may leave the file shorter than its first page says
		return nil
	}
	return err
}

func isNotDatabase(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrNotADB
}

// fileOf returns what identifies a file, nil if there is none.
func fileOf(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// inPlace returns ErrReplaced if the store's path does not lead to the file it has open: nobody would find the data again.
func (s *sqlite) inPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at the database: %w", err)
	case err != nil || !os.SameFile(now, s.file):
		return fmt.Errorf("%w: put it back, or stop the bot and run `cairn restore FILE`", ErrReplaced)
	}
	return nil
}

func (s *sqlite) version(tx *Tx) int { return versionOf(tx) }

func (s *sqlite) has(tx *Tx, table string) bool { return hasTable(tx, table) }

func hasTable(tx *Tx, name string) bool {
	return exists(tx, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name)
}

func (s *sqlite) highest(tx *Tx, table string) int64 {
	return getValue[int64](tx, "SELECT seq FROM sqlite_sequence WHERE name = ?", table)
}

func (s *sqlite) setHighest(tx *Tx, table string, id int64) {
	tx.do("DELETE FROM sqlite_sequence WHERE name = ?", table)
	if id > 0 {
		tx.do("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, id)
	}
}

func (s *sqlite) touch(tx *Tx) { tx.do(fmt.Sprintf("PRAGMA user_version = %d", len(migrations))) }

func (s *sqlite) verify(tx *Tx) { verify(tx) }

func (s *sqlite) writtenElsewhere(ctx context.Context) (number int64, err error) {
	err = s.store.write.QueryRowContext(ctx, "PRAGMA data_version").Scan(&number) // of the only connection that writes here
	return number, err
}

func (s *sqlite) enter(*Tx, handle, meaning) {} // one process owns everything

func (s *sqlite) notify(*Tx, bool) {}

func (s *sqlite) listen(context.Context, func(bool)) error { return nil }

func (s *sqlite) measure(_ context.Context, v *Vitals) error {
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
