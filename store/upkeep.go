// Upkeep: a running bot's backups, and the erasure of deleted text.

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Backups say which backups a bot makes on its own.
type Backups struct {
	Every time.Duration // 0: none
	Keep  int           // how many of the newest stay
	Dir   string
}

// BackupsName is the folder of backups in the data folder.
const BackupsName = "backups"

// backupName is the name of an automatic backup, in time's form.
const backupName = "cairn-20060102T150405Z.db"

// Run does what is due: it erases deleted text from the files, and makes a backup. The bot calls it every few minutes.
func (u Upkeep) Run(ctx context.Context, b Backups, now time.Time) error {
	if err := u.store.Held().Deliver(ctx); err != nil {
		return err
	}
	when, erase, err := u.EraseAt(ctx, now)
	if err == nil && erase && !when.After(now) {
		started := time.Now()
		if err = u.EraseFiles(ctx, b); err == nil {
			u.store.log.Info("deleted_text_erased", "took", time.Since(started).Round(time.Millisecond).String())
			return nil // the erasure has made a new backup
		}
	}
	if b.Every == 0 {
		return err
	}
	due, backupErr := u.backupDue(ctx, b, now)
	if due {
		backupErr = u.store.backUp(ctx, b, now)
	}
	return errors.Join(err, backupErr)
}

// backupDue reports whether to make a backup. The first one waits for messages: the copy of an empty database would be the only
// one until the next is due.
func (u Upkeep) backupDue(ctx context.Context, b Backups, now time.Time) (due bool, err error) {
	made, err := b.List(now)
	if err != nil {
		return false, err
	}
	if len(made) > 0 {
		age := now.Sub(backupMade(made[0]))
		return age >= b.Every || age < 0, nil
	}
	err = u.store.row(ctx, []any{&due}, "SELECT EXISTS (SELECT 1 FROM messages UNION ALL SELECT 1 FROM inbox)")
	return due, err
}

// List returns the files of the automatic backups, newest first. Those that are later than now were made while the clock was
// wrong: they come last.
func (b Backups) List(now time.Time) (files []string, err error) {
	entries, err := os.ReadDir(b.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	for _, e := range entries {
		if !backupMade(e.Name()).IsZero() {
			files = append(files, filepath.Join(b.Dir, e.Name()))
		}
	}
	slices.Reverse(files) // names are times
	past := max(slices.IndexFunc(files, func(file string) bool { return !backupMade(file).After(now) }), 0)
	return slices.Concat(files[past:], files[:past]), nil
}

// backupMade returns the time in a backup's name; zero if the file is something else.
func backupMade(file string) time.Time {
	made, _ := time.Parse(backupName, filepath.Base(file))
	return made
}

// backUp makes a backup and removes the oldest ones.
func (s *Store) backUp(ctx context.Context, b Backups, now time.Time) error {
	info, err := os.Stat(s.path)
	if err = cmp.Or(err, os.MkdirAll(b.Dir, 0o700)); err == nil {
		err = checkRoom(b.Dir, info.Size())
	}
	if err != nil {
		return fmt.Errorf("make a backup: %w", err)
	}
	s.removeParts(b.Dir)
	file := filepath.Join(b.Dir, now.UTC().Format(backupName))
	if _, err := s.backup(ctx, file); err != nil { // it replaces one of the same second
		return err
	}
	s.log.Debug("backup_made", "file", file)
	return b.remove(now, b.Keep)
}

// remove keeps only the newest backups, keep of them.
func (b Backups) remove(now time.Time, keep int) error {
	made, err := b.List(now)
	for i, file := range made {
		if i >= keep {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

// renewBackups runs after an erasure: the backups made before it hold deleted text.
func (s *Store) renewBackups(ctx context.Context, b Backups) error {
	now := time.Now()
	if b.Every == 0 {
		return b.remove(now, 0)
	}
	b.Keep = 1
	return s.backUp(ctx, b, now)
}
