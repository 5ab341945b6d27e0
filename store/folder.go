// The data folder: its lock and its permissions, and how a database of an earlier version gets its current schema.

package store

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

const lockName = "cairn.lock"

func prepare(ctx context.Context, dir, path string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	if err := lost(path); err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", dir, err)
	}
	earlier := filepath.Join(dir, "cairn.held")
	if _, err := os.Stat(earlier); err == nil {
		return nil, fmt.Errorf("%s has messages that Cairn accepted before 30 November 2026, and did not store yet: start that version once", earlier)
	}
	unlock, err = takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = create(ctx, path)
	} else {
		err = makePrivate(path) // SQLite's other files get the same permissions
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), unlock())
	}
	return unlock, nil
}

// create makes a database without conversations. It is complete when it gets its name: an empty file was emptied, see lost.
func create(ctx context.Context, path string) error {
	part := path + ".new"
	if err := makePrivate(part); err != nil {
		return err
	}
	db := open(part, "_synchronous=FULL")
	if err := errors.Join(migrate(ctx, db), db.Close()); err != nil {
		return err
	}
	return rename(part, path)
}

// makePrivate creates a file, or changes the permissions of the existing one, see openPrivate.
func makePrivate(path string) error {
	file, err := openPrivate(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// lost returns ErrDamaged if a database was emptied, or deleted without its log: SQLite would create a new one, and discard the
// log, which may hold the newest messages. One without a log was deleted on purpose.
func lost(path string) error {
	file, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing && (err != nil || file.Size() > 0 || file.IsDir()) {
		return nil
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return fmt.Errorf("%w: it is missing or empty, but its log %s-wal exists: put it back, or move the log away", ErrDamaged, databaseName)
	}
	if missing {
		return nil
	}
	return fmt.Errorf("%w: the file is empty: put it back, or delete it", ErrDamaged)
}

// openPrivate opens or creates a file that only its owner may read, whatever the umask. A file of root belongs to the owner of
// the folder: the bot must be able to open what a shell command created.
func openPrivate(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o600); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if info, err := os.Stat(filepath.Dir(path)); err == nil && os.Geteuid() == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			if err := file.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
				return nil, errors.Join(err, file.Close())
			}
		}
	}
	return file, nil
}

func checkExists(path string) error {
	if err := lost(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: there is no data yet; talk to the bot first, or name another folder", path, ErrNotFound)
	} else if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return nil
}

// Writable returns nil if this process may write the existing database in the folder dir, and its
// disk has room for a copy, which backups and the erasure of deleted text need.
func Writable(dir string) error {
	for _, path := range []string{dir, File(dir)} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return fmt.Errorf("%s is not writable for the user who runs this: run the bot as its owner, or name another folder: %w", path, err)
		}
	}
	info, err := os.Stat(File(dir))
	if err != nil {
		return err
	}
	return checkRoom(dir, info.Size())
}

// InUse reports whether a process that may write has the data folder dir open.
func InUse(dir string) bool {
	file, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // which releases the lock
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// takeLock locks a file, which holds the process ID. The lock belongs to the open file, so it
// vanishes with the process however that ends; the process ID alone keeps no one out.
func takeLock(path string) (unlock func() error, err error) {
	file, err := openPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: check the permissions of it and its files: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		holder := make([]byte, 20)
		n, _ := file.ReadAt(holder, 0)                   // naming the holder is a courtesy
		pid, _, _ := bytes.Cut(holder[:n], []byte("\n")) // older versions wrote more lines
		return nil, fmt.Errorf("%w: process %s holds %s: stop it or name another folder", ErrInUse, pid, path)
	}
	// The file stays in place: removing it would free the name for a second lock while another process holds the first. A
	// child process that is just starting briefly has the file open too, so closing alone would leave it locked.
	unlock = func() error { return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close()) }
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), unlock())
	}
	return unlock, nil
}

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
var fills = map[int]func(tx *Tx){5: reindex, 6: fillQuotes, 13: fillFacts, 17: fillMembers}

// upgrade brings the file up to date. It first copies a non-empty file to cairn.db.before-N beside it, where N is the version it
// gets: going back to the older cairn requires that copy. An earlier copy is replaced. No room for the copy is only logged.
func (s *sqlite) upgrade(ctx context.Context, write, read *sql.DB) error {
	var old int
	if err := transact(ctx, read, toRead, func(tx *Tx) { old = versionOf(tx) }); err != nil {
		return err
	}
	if old > 0 && old < len(migrations) {
		copied := fmt.Sprintf("%s.before-%d", s.path, len(migrations))
		_, err := s.backup(ctx, copied)
		var unread sqlite3.Error
		switch {
		case errors.As(err, &unread) && errors.Is(err, ErrDamaged):
			return err // the upgrade could not read these pages either
		case err == nil:
			s.store.log.Info("database_upgraded", "copy", copied)
		default:
			s.store.log.Warn("copy_before_upgrade_failed", "error", err)
		}
	}
	return migrate(ctx, write)
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
			tx.do(schema)
			from = to
		}
		for version := from + 1; version <= to; version++ {
			tx.do(migrations[version-1])
			if fill := fills[version]; fill != nil {
				fill(tx)
			}
			if tx.err != nil {
				tx.err = fmt.Errorf("migrate to version %d: %w", version, tx.err)
				return
			}
		}
		tx.do(fmt.Sprintf("PRAGMA user_version = %d", to))
	})
}

// errOlder is returned to a process that may not upgrade the schema.
var errOlder = errors.New("an older cairn wrote it: start the bot once to upgrade it")

// checkVersion rejects a file whose version is not ours, and leaves it unchanged.
func (s *sqlite) checkVersion(ctx context.Context, _, read *sql.DB) error {
	return transact(ctx, read, toRead, func(tx *Tx) {
		switch version := versionOf(tx); {
		case version == 0:
			tx.Fail(fmt.Errorf("%s: %w: it is empty", databaseName, ErrNotFound))
		case version < len(migrations):
			tx.Fail(errOlder)
		}
	})
}

// versionOf reads the version of a file that is new, 0, or ours. Errors: ErrNewer, or that another program wrote the file.
func versionOf(tx *Tx) (version int) {
	var empty, ours bool
	tx.row(`SELECT user_version,
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
