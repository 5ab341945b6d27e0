// SQLite: the database is a file in the data folder.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

const databaseName = "cairn.db"

// File is the name of the database in a data folder.
func File(dir string) string { return filepath.Join(dir, databaseName) }

// sqlite is the file of a store.
type sqlite struct {
	store   *Store
	dir     string // as it was named
	path    string
	file    fs.FileInfo  // identifies the file that was opened
	logFile fs.FileInfo  // the same of its write-ahead log; nil: it had none
	lost    firstError   // why the store can no longer be used
	damage  firstError   // that a read or a write has met
	unlock  func() error // of the folder; nil when shared

	existing bool // there must be a file already

	rewritten int64 // the newest deletion that VACUUM has taken out of the database, see erase
}

func (s *sqlite) open(ctx context.Context) (write, read *sql.DB, err error) {
	if s.store.shared || s.existing {
		err = checkExists(s.path)
	}
	if err == nil && !s.store.shared {
		s.unlock, err = prepare(ctx, s.dir, s.path)
	}
	if err != nil {
		return nil, nil, err
	}
	if !s.store.shared { // VACUUM's temporary file, where checkRoom looks; SQLite reads this when it is first used
		_ = os.Setenv("SQLITE_TMPDIR", filepath.Dir(s.path))
	}
	write = open(s.path, writerPragmas)
	write.SetMaxOpenConns(1)
	read = open(s.path, readerPragmas+asItIs(s.path))
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	ready := s.upgrade
	if s.store.shared || s.store.copying {
		ready = s.checkVersion
	}
	if !s.store.copying {
		err = transact(ctx, read, oneRead, func(tx *Tx) { wantFinished(tx, hasTable(tx, marker)) })
	}
	if err == nil {
		err = ready(ctx, write, read)
	}
	if err == nil {
		s.file, err = os.Stat(s.path)
		s.logFile = fileOf(s.path + "-wal")
	}
	if err != nil {
		return write, read, fmt.Errorf("open data folder %s: %w", s.dir, explain(err))
	}
	return write, read, nil
}

func (s *sqlite) close() error {
	if s.unlock == nil {
		return nil
	}
	return s.unlock()
}

func (s *sqlite) place() string { return s.path }

func (s *sqlite) usable() error { return s.lost.get() }

func (s *sqlite) damaged() error { return s.damage.get() }

// FULL: messages survive a power cut once Deliver has returned. Secure delete: deleted data is
// overwritten.
const (
	writerPragmas = "_journal_mode=WAL&_busy_timeout=5000&_foreign_keys=on&_synchronous=FULL&_secure_delete=on&_stmt_cache_size=200"
	readerPragmas = "_busy_timeout=5000&_query_only=on&_stmt_cache_size=200"
)

// asItIs returns a pragma for a database that no one has open, in a folder where this process may not even write the log.
func asItIs(path string) string {
	if _, err := os.Stat(path + "-wal"); err == nil || unix.Access(filepath.Dir(path), unix.W_OK) == nil {
		return ""
	}
	return "&immutable=1"
}

// open opens a database on its first use.
func open(path, pragmas string) *sql.DB {
	db, err := sql.Open("sqlite3", sourceOf(path, pragmas))
	if err != nil { // the driver's name is wrong
		panic(err)
	}
	return db
}

func sourceOf(path, pragmas string) string {
	if full, err := filepath.Abs(path); err == nil { // SQLite would take the start of a relative path for a host
		path = full
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: pragmas + "&mode=rw"}
	return file.String()
}

// explain turns SQLite's errors into errors that people can act on and callers can distinguish.
func explain(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.SystemErrno == syscall.ENOSPC { // e.g. for the shared memory beside the file
		e.Code = sqlite3.ErrFull
	}
	switch e.Code {
	case sqlite3.ErrNotADB, sqlite3.ErrCorrupt:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.ErrFull:
		return fmt.Errorf("%w: make room: %w", ErrFull, err)
	case sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrPerm:
		return fmt.Errorf("%s cannot be used: check the permissions of it and its folder: %w", databaseName, err)
	}
	return err
}
