// Package memory is what the bot remembers, in one SQLite file: transcripts and
// what waits to be answered or sent, compactions, memories, and an index to
// search them. A Conversation is a handle through which nothing sees another one.
package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-sqlite3"
)

const (
	databaseName = "cairn.db"
	lockName     = "cairn.lock"
	readers      = 4
)

// Options say which store is opened and how.
type Options struct {
	Dir string // the data folder
	// Shared looks on beside a running bot: it takes no lock, creates and migrates
	// nothing, and leaves alone what the bot is working on.
	Shared bool
	Log    *slog.Logger // nil: silent
}

// Store is the open database. It is safe for concurrent use.
type Store struct {
	shared bool
	log    *slog.Logger
	lock   *lock   // nil when shared
	write  *sql.DB // one connection: writers wait for each other here, not in SQLite
	read   *sql.DB // a pool that cannot write
}

// Open opens the store in the folder o.Dir. It creates folder and file where there
// are none, readable by their owner only, and brings an older file up to date.
// Errors: ErrInUse when another bot runs on the folder, ErrNewer when a newer
// cairn wrote the file, ErrNotFound when a Shared store does not exist.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{shared: o.Shared, log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	path, err := filepath.Abs(filepath.Join(o.Dir, databaseName))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", o.Dir, err)
	}
	if s.shared {
		err = look(path)
	} else {
		s.lock, err = prepare(o.Dir, path)
	}
	if err != nil {
		return nil, err
	}
	if err := s.connect(ctx, path); err != nil {
		return nil, errors.Join(explain(path, err), s.Close())
	}
	return s, nil
}

// prepare makes folder and file, and takes the lock.
func prepare(dir, path string) (*lock, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make data folder: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("data folder: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("data folder %s is a file: name a folder", dir)
	}
	l, err := takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	// SQLite gives its other files the rights of the first one.
	file, err := openPrivate(path)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), l.release())
	}
	return l, nil
}

// openPrivate opens or creates a file that only its owner may read, whatever the umask says.
func openPrivate(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o600); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// look checks that there is something to look at.
func look(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w: there are no data yet, talk to the bot first or name another folder", path, ErrNotFound)
	case err != nil:
		return fmt.Errorf("open database: %w", err)
	case info.IsDir():
		return fmt.Errorf("open database: %s is a folder", path)
	}
	return nil
}

func (s *Store) connect(ctx context.Context, path string) error {
	s.write = open(path, writerPragmas)
	s.write.SetMaxOpenConns(1)
	s.read = open(path, readerPragmas)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if s.shared {
		return checkVersion(ctx, s.read)
	}
	from, to, err := migrate(ctx, s.write)
	if err == nil && from != to {
		s.log.Debug("database migrated", "from", from, "to", to)
	}
	return err
}

// FULL: what people said survives a power cut once Deliver returned. Secure delete:
// what was deleted is overwritten. Immediate: a transaction that writes takes its
// lock at the start, so it never has to begin anew in the middle.
const (
	writerPragmas = "_journal_mode=WAL&_busy_timeout=5000&_foreign_keys=on&_synchronous=FULL&_secure_delete=on&_txlock=immediate"
	readerPragmas = "_busy_timeout=5000&_query_only=on"
)

// open never fails: the connection is made when it is first used.
func open(path, pragmas string) *sql.DB {
	name := url.URL{Scheme: "file", Path: path, RawQuery: pragmas + "&mode=rw"}
	db, err := sql.Open("sqlite3", name.String())
	if err != nil { // the driver's name is wrong
		panic(err)
	}
	return db
}

// explain turns the engine's words into what a person can act on.
func explain(path string, err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("open %s: %w", path, err)
	}
	switch e.Code {
	case sqlite3.ErrNotADB, sqlite3.ErrCorrupt:
		return fmt.Errorf("%s is damaged or no database of cairn: move it away or put a backup in its place: %w", path, err)
	case sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrPerm:
		return fmt.Errorf("%s cannot be opened: check who may read and write it and its folder: %w", path, err)
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// Close closes the store. Nothing may be called after it.
func (s *Store) Close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close(), s.write.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// update runs f in one transaction that may write; an error undoes all of it.
func (s *Store) update(ctx context.Context, f func(tx *sql.Tx) error) error {
	return transact(ctx, s.write, f)
}

// view runs f on one unchanging state of the database.
func (s *Store) view(ctx context.Context, f func(tx *sql.Tx) error) error {
	return transact(ctx, s.read, f)
}

// transact gives f no context on purpose: with one that can be cancelled the
// driver starts a goroutine for every row. ctx still bounds the wait for a
// connection, and its end takes the transaction back.
func transact(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// each calls scan for every row of a query.
func each(tx *sql.Tx, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// changed runs a statement and returns ErrNotFound if it changed no row.
func changed(tx *sql.Tx, query string, args ...any) error {
	result, err := tx.Exec(query, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

func now() int64 { return time.Now().UnixMilli() }

// at is the time a row holds.
func at(millis int64) time.Time { return time.UnixMilli(millis).UTC() }
