// The open database: how it is opened and closed, and its transactions.

package store

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
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

const (
	databaseName = "cairn.db"
	readers      = 4
)

// File is the name of the database in a data folder.
func File(dir string) string { return filepath.Join(dir, databaseName) }

// Errors that callers branch on.
var (
	ErrNotFound     = errors.New("not found")
	ErrInUse        = errors.New("the data folder is in use") // another bot holds its lock
	ErrNewer        = errors.New("the database was written by a newer cairn")
	ErrLive         = errors.New("the conversation is in use") // it has messages from people already: nothing may be imported
	ErrOtherMessage = errors.New("an id names one message of a channel")
	ErrDamaged      = errors.New(databaseName + " is damaged, nothing was changed")
	ErrFull         = errors.New("the disk is full")
	ErrReplaced     = errors.New(databaseName + " was deleted, moved or replaced while the bot runs")
)

// Options configures which store to open, and how.
type Options struct {
	Dir string // the data folder
	// Shared opens the store beside a running bot: it takes no lock, creates and migrates
	// nothing, and leaves alone what the bot is working on.
	Shared bool
	Log    *slog.Logger // nil: silent
}

// Store is the open database. It is safe for concurrent use.
type Store struct {
	path       string      // path of the file
	file       fs.FileInfo // identifies the file that was opened
	logFile    fs.FileInfo // the same of its write-ahead log; nil: it had none
	lost       firstError  // why the store can no longer be used
	damage     firstError  // that a read or a write has met
	shared     bool
	log        *slog.Logger
	unlock     func() error  // of the folder; nil when shared
	write      *sql.DB       // one connection: writers wait for each other here, not in SQLite
	queue      chan struct{} // has the writer that uses the connection; the others wait in order, which database/sql does not keep
	read       *sql.DB       // a pool that cannot write
	Sharing    atomic.Bool   // whether conversations recall each other's memories
	Embeddings atomic.Value  // those of package memory, for search by meaning; nil: by words alone
	arrivals   sync.Map      // when the waiting messages of this process were delivered, by waitingMessage
	pauses     atomic.Pointer[pauses]

	rewritten int64 // the newest deletion that VACUUM has taken out of the database, see EraseFiles

	watch func(conversation string) // see Watch
}

// Open opens the store in the folder o.Dir. It creates missing folders and files, makes all readable only by their owner, and
// brings an older file up to date. Errors: ErrInUse when another bot runs on the folder, ErrNewer when a newer cairn wrote
// the file, ErrDamaged when it is unreadable, ErrNotFound when a Shared store does not exist.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{shared: o.Shared, log: o.Log, queue: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	path, err := filepath.Abs(File(o.Dir))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", o.Dir, err)
	}
	s.path = path
	if s.shared {
		err = checkExists(path)
	} else {
		s.unlock, err = prepare(ctx, o.Dir, path)
	}
	if err != nil {
		return nil, err
	}
	if err := s.connect(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("open data folder %s: %w", o.Dir, explain(err)), s.Close())
	}
	return s, nil
}

func (s *Store) connect(ctx context.Context, path string) error {
	if !s.shared { // VACUUM's temporary file, where checkRoom looks; SQLite reads this when it is first used
		_ = os.Setenv("SQLITE_TMPDIR", filepath.Dir(path))
	}
	s.write = open(path, writerPragmas)
	s.write.SetMaxOpenConns(1)
	s.read = open(path, readerPragmas+asItIs(path))
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	ready := s.upgrade
	if s.shared {
		ready = s.checkVersion
	}
	err := ready(ctx)
	if err == nil {
		s.file, err = os.Stat(path)
		s.logFile = fileOf(path + "-wal")
	}
	return err
}

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

// Close closes the store. No method may be called after it.
func (s *Store) Close() error {
	var err error
	if s.write != nil {
		err = errors.Join(s.read.Close(), s.write.Close())
	}
	if s.unlock != nil {
		err = errors.Join(err, s.unlock())
	}
	return Fail("close store", err)
}

// Fail wraps an error with what was tried; nil stays nil.
func Fail(tried string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// Update runs f in one transaction that may write; an error rolls it back. Calls run in the order in which they came, after
// VACUUM. If SQLite gives up the error is ErrDamaged or ErrFull; it is ErrReplaced if the writes would be lost.
func (s *Store) Update(ctx context.Context, f func(tx *Tx)) error {
	if err := s.lost.get(); err != nil {
		return err
	}
	var changed []string
	err := s.inOrder(ctx, func() error {
		return s.explain(transact(ctx, s.write, toWrite, func(tx *Tx) {
			tx.store = s
			f(tx)
			tx.Fail(s.inPlace())
			changed = tx.changed
		}))
	})
	if err != nil {
		return err
	}
	slices.Sort(changed)
	for _, name := range slices.Compact(changed) {
		if s.watch != nil {
			s.watch(name)
		}
	}
	return nil
}

// inOrder calls write after the earlier writers. It returns ctx's error if ctx ends before that.
func (s *Store) inOrder(ctx context.Context, write func() error) error {
	select {
	case s.queue <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.queue }()
	return write()
}

func (s *Store) set(ctx context.Context, tried, query string, args ...any) error {
	return Fail(tried, s.Update(ctx, func(tx *Tx) { tx.do(query, args...) }))
}

// View runs f on one consistent snapshot of the database.
func (s *Store) View(ctx context.Context, f func(tx *Tx)) error { return s.look(ctx, toRead, f) }

func (s *Store) look(ctx context.Context, begin string, f func(tx *Tx)) error {
	if err := s.lost.get(); err != nil {
		return err
	}
	return s.explain(transact(ctx, s.read, begin, func(tx *Tx) {
		tx.store = s
		f(tx)
	}))
}

// selectAlone is listRows without a transaction.
func selectAlone[T any](ctx context.Context, s *Store, scan func(*sql.Rows, *T) error, query string, args ...any) (all []T, err error) {
	err = s.look(ctx, oneRead, func(tx *Tx) { all = listRows(tx, scan, query, args...) })
	return all, err
}

func nowMillis() int64 { return time.Now().UnixMilli() }

// utcTime returns the stored time in UTC, for programs.
func utcTime(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

// localTime returns the stored time in the bot's time zone: prompts show it, and "yesterday" depends on it.
func localTime(millis int64) time.Time { return time.UnixMilli(millis).Local() }
