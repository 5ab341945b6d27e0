// Engines: what SQLite and PostgreSQL do each in its own way. All else is SQL that both run.

package store

import (
	"context"
	"database/sql"
	"time"
)

// engine is the database system that keeps a store.
type engine interface {
	// open connects, and brings the schema up to date, or creates it. It returns connections that write, of which there is one, and
	// others that cannot.
	open(ctx context.Context) (write, read *sql.DB, err error)

	// close releases what open took besides the connections.
	close() error

	// usable returns why the store can no longer be used; nil: it can. It reads nothing.
	usable() error

	// inPlace returns ErrReplaced if what is written now would be lost.
	inPlace() error

	// explain turns the system's errors into errors that people can act on and callers can distinguish.
	explain(err error) error

	// version returns the version of the schema, and touch writes it once more.
	version(tx *Tx) int
	touch(tx *Tx)

	// has reports whether there is a table with that name.
	has(tx *Tx, table string) bool

	// highest returns the highest id that a table has given to a row, also to one that was deleted; 0: none. setHighest sets it.
	highest(tx *Tx, table string) int64
	setHighest(tx *Tx, table string, id int64)

	// verify reads every row and every reference.
	verify(tx *Tx)

	// damaged returns the first damage that a read or a write has met. It reads nothing.
	damaged() error

	// intact looks for damage that the open connections would not notice.
	intact(ctx context.Context) error

	// writtenElsewhere returns a number that changes when another process writes.
	writtenElsewhere(ctx context.Context) (int64, error)

	// enter locks a conversation until the end of the transaction, which fails with ErrOwned if c is of an owner that another process
	// has followed. It tells the owner, if that is another process, what the transaction means to it.
	enter(tx *Tx, c handle, tells meaning)

	// notify has the other processes look, once the transaction is committed, for what is there for them, or, with members, for who has
	// left or ended. listen calls heard whenever one of them does that, or enter tells an owner something. It returns when the connection
	// is lost; nil: nobody can.
	notify(tx *Tx, members bool)
	listen(ctx context.Context, heard func(members bool)) error

	// measure sets the sizes in v.
	measure(ctx context.Context, v *Vitals) error

	// backup copies the database to a file, and keepBackup makes an automatic backup if one is due.
	backup(ctx context.Context, path string) (Copied, error)
	keepBackup(ctx context.Context, b Backups, now time.Time) error

	// vacuum rewrites the tables, and erase also removes what was deleted from backups.
	vacuum(ctx context.Context) error
	erase(ctx context.Context, b Backups) error

	// place says where the database is, for people.
	place() string
}

// meaning is what a transaction means to the owner of a conversation.
type meaning int

const (
	quiet    meaning = -1 // nothing
	woken    meaning = 0  // it has more to do
	outdated meaning = 1  // what it knows of the conversation is out of date
)
