// Backups: verified copies of the database, and restoring them.

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Copied describes the content of a copy of the database.
type Copied struct {
	Bytes         int64 `json:"bytes"`
	Version       int   `json:"version"` // of the schema
	Conversations int   `json:"conversations"`
	Messages      int   `json:"messages"`
	Memories      int   `json:"memories"`
}

// Backup writes a consistent copy of the database to a new file that only its owner may read, and checks it, while the bot
// runs and writes. The file appears complete or not at all. fs.ErrExist: a file of that name exists and is left alone.
func (u Upkeep) Backup(ctx context.Context, path string) (c Copied, err error) {
	if _, err := os.Lstat(path); err == nil {
		return c, fmt.Errorf("back up to %s: %w", path, fs.ErrExist)
	}
	return u.store.engine.backup(ctx, path)
}

// backup makes the copy in a part beside path, and gives it its name.
func (s *sqlite) backup(ctx context.Context, path string) (c Copied, err error) {
	part, err := newPart(filepath.Dir(path), s.store.log)
	if err != nil {
		return c, fmt.Errorf("back up to %s: %w", path, err)
	}
	defer part.close()
	db := open(s.path, "_busy_timeout=5000") // those of the pool may not write at all
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", part.path)
	err = errors.Join(err, db.Close())
	if err != nil {
		return c, fmt.Errorf("back up to %s: %w", path, s.explain(err))
	}
	c, err = Inspect(ctx, part.path)
	if err != nil {
		return c, fmt.Errorf("check the backup: %w", err)
	}
	err = flush(part.path)
	if err == nil {
		err = rename(part.path, path)
	}
	return c, Fail("back up to "+path, err)
}

// rename gives a file another name, durably.
func rename(from, to string) error { return cmp.Or(os.Rename(from, to), flush(filepath.Dir(to))) }

// Inspect reads a whole database, in use or not, without changing it. Errors: ErrNotFound, ErrDamaged, ErrNewer.
func Inspect(ctx context.Context, path string) (c Copied, err error) {
	err = checkExists(path)
	if err != nil {
		return c, err
	}
	pragmas := readerPragmas
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		pragmas += "&immutable=1" // it leaves no files beside it
	}
	db := open(path, pragmas)
	err = explain(transact(ctx, db, toRead, func(tx *Tx) {
		wantFinished(tx, hasTable(tx, marker))
		c.Version = versionOf(tx)
		if c.Version == 0 {
			tx.Fail(fmt.Errorf("%w: it is empty", ErrDamaged))
		}
		verify(tx)
		tx.row(`SELECT (SELECT count(*) FROM conversations), (SELECT count(*) FROM messages WHERE deleted_at IS NULL), (SELECT count(*) FROM memories),
			(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)`).Scan(&c.Conversations, &c.Messages, &c.Memories, &c.Bytes)
	}))
	return c, Fail(path, errors.Join(err, db.Close()))
}

// verify reads every page and every reference.
func verify(tx *Tx) {
	if found := getValue[string](tx, "PRAGMA integrity_check(1)"); found != "ok" {
		tx.Fail(fmt.Errorf("%w: %s", ErrDamaged, found))
	}
	var table, parent string
	var row int64
	if tx.row(`SELECT "table", coalesce("rowid", 0), parent FROM pragma_foreign_key_check`).Found(&table, &row, &parent) {
		tx.Fail(fmt.Errorf("%w: row %d of %s refers to a row of %s that is not there", ErrDamaged, row, table, parent))
	}
}

// Restore replaces the database in the folder dir by a backup, which it first reads completely. The previous database is
// kept beside it: aside is the name of its file, empty if there was none. After an error, such as ErrInUse, nothing has
// changed.
func Restore(ctx context.Context, dir, backup string) (c Copied, aside string, err error) {
	if info, err := os.Stat(backup + "-wal"); err == nil && info.Size() > 0 {
		return c, "", fmt.Errorf("restore: %s is a database in use: make a backup of it, and restore that", backup)
	}
	switch c, err = Inspect(ctx, backup); {
	case errors.Is(err, ErrNotFound):
		return c, "", fmt.Errorf("restore: %s: %w: name a file that `cairn backup` wrote", backup, ErrNotFound)
	case errors.Is(err, ErrDamaged):
		return c, "", fmt.Errorf("restore: %s is damaged or not a backup of cairn: %w; name another", backup, ErrBadBackup)
	case errors.Is(err, ErrNewer):
		return c, "", fmt.Errorf("restore: %w; %w", err, ErrBadBackup)
	case err != nil:
		return c, "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, "", fmt.Errorf("make data folder: %w", err)
	}
	unlock, err := takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return c, "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	path := File(dir)
	part, err := newPart(dir, slog.New(slog.DiscardHandler)) // what cannot be removed does no harm
	if err != nil {
		return c, "", Fail("restore", err)
	}
	defer part.close()
	err = copyFile(backup, part.path)
	if err == nil {
		aside, err = moveAside(ctx, path)
	}
	if err == nil {
		err = rename(part.path, path)
	}
	return c, aside, Fail("restore", err)
}

// ErrBadBackup means that a file cannot be restored. The database is as it was.
var ErrBadBackup = errors.New("nothing was changed")

// moveAside gives a database another name, and moves its log and shared memory away first: SQLite would replay the log into
// the database that replaces this one. The file keeps its old name too, until the new one replaces it: at no moment could
// a start find no database and create an empty one.
func moveAside(ctx context.Context, path string) (aside string, err error) {
	missing := lost(path) != nil // SQLite would discard the log
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !missing {
		return "", nil
	}
	if !missing {
		db := open(path, writerPragmas)
		_, _ = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)") // moves the log into the file, if both can be read
		_ = db.Close()
	}
	aside = path + time.Now().UTC().Format(".before-20060102T150405.000")
	for _, part := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+part, aside+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	err = os.Link(path, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file system without hard links, of a memory stick or a network share
		err = copyFile(path, aside)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return aside, nil
}

// copyFile copies to a new file that only its owner may read, and syncs it to disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := openPrivate(to)
	if err != nil {
		return err
	}
	err = out.Truncate(0)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Sync(), out.Close())
}

// flush syncs a file, or a folder's entries, to disk.
func flush(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
