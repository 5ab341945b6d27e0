// The open database: how it is opened and closed, and its transactions.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const readers = 4 // connections that read

// Errors that callers branch on.
var (
	ErrNotFound     = errors.New("not found")
	ErrInUse        = errors.New("the database is in use") // another bot holds its lock
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
	// Existing creates no store: one that does not exist is ErrNotFound. Shared implies it.
	Existing bool
	Log      *slog.Logger // nil: silent

	Postgres string // the address of a PostgreSQL database; empty: SQLite in the data folder
	Schema   string // in that database

	copying bool // it is the source or the target of a copy: it is not upgraded, and may be unfinished
}

// Store is the open database. It is safe for concurrent use.
type Store struct {
	engine     engine
	shared     bool
	copying    bool
	log        *slog.Logger
	write      *sql.DB       // one connection: writers wait for each other here, not in SQLite
	queue      chan struct{} // has the writer that uses the connection; the others wait in order, which database/sql does not keep
	read       *sql.DB       // a pool that cannot write
	Sharing    atomic.Bool   // whether conversations recall each other's memories
	Embeddings atomic.Value  // those of package memory, for search by meaning; nil: by words alone
	arrivals   sync.Map      // when the waiting messages of this process were delivered, by waitingMessage
	pauses     atomic.Pointer[pauses]

	watch func(conversation string)              // see Watch
	lost  func(conversation string, epoch int64) // see Lost
	lease atomic.Pointer[Lease]                  // the newest of this process; nil: it needs none
}

// Open opens the store in the folder o.Dir, or in PostgreSQL. It creates missing folders and files, makes all readable only by their
// owner, and brings an older store up to date. Errors: ErrInUse when another bot runs on the folder, ErrNewer when a newer cairn wrote
// the store, ErrDamaged when it is unreadable, ErrNotFound when a Shared or Existing store does not exist.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{shared: o.Shared, copying: o.copying, log: o.Log, queue: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Postgres == "" {
		path, err := filepath.Abs(File(o.Dir))
		if err != nil {
			return nil, fmt.Errorf("data folder %s: %w", o.Dir, err)
		}
		s.engine = &sqlite{store: s, dir: o.Dir, path: path, existing: o.Existing}
	} else {
		s.engine = &postgreSQL{store: s, text: o.Postgres, schema: o.Schema, existing: o.Shared || o.Existing}
	}
	var err error
	s.write, s.read, err = s.engine.open(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the store. No method may be called after it.
func (s *Store) Close() error {
	var err error
	if s.write != nil {
		err = errors.Join(s.read.Close(), s.write.Close())
	}
	return Fail("close store", errors.Join(err, s.engine.close()))
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
	if err := s.engine.usable(); err != nil {
		return err
	}
	var changed []string
	err := s.inOrder(ctx, func() error {
		return s.beside(ctx, func(tx *Tx) {
			f(tx)
			tx.Fail(s.engine.inPlace())
			changed = tx.raised
		})
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

// beside is Update for what concerns no conversation, without waiting for earlier writers where the engine allows that.
func (s *Store) beside(ctx context.Context, f func(tx *Tx)) error {
	return s.engine.explain(transact(ctx, s.write, toWrite, func(tx *Tx) {
		tx.store = s
		f(tx)
	}))
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
	if err := s.engine.usable(); err != nil {
		return err
	}
	return s.engine.explain(transact(ctx, s.read, begin, func(tx *Tx) {
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
