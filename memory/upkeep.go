// Upkeep: the backups that a running bot makes, and the erasure of deleted text.

package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Backups say which backups a bot makes by itself.
type Backups struct {
	Every time.Duration // 0: none
	Keep  int           // the newest so many stay
	Dir   string
}

// BackupsName is the folder of backups in the data folder.
const BackupsName = "backups"

const (
	backupPrefix = "cairn-"
	backupTime   = "20060102T150405Z"
	backupSuffix = ".db"
)

// Run does what is due: it removes deleted text from the files, and makes a backup.
// Whoever runs a bot calls it every few minutes.
func (u Upkeep) Run(ctx context.Context, b Backups, now time.Time) error {
	if err := u.store.Held().Deliver(ctx); err != nil {
		return err
	}
	when, due, err := u.EraseAt(ctx, now)
	if err == nil && due && !when.After(now) {
		started := time.Now()
		if err = u.EraseFiles(ctx, b); err == nil {
			u.store.log.Info("deleted_text_erased", "took", time.Since(started).Round(time.Millisecond).String())
		}
	}
	if b.Every == 0 {
		return err
	}
	made, listErr := b.List()
	if listErr == nil && (len(made) == 0 || now.Sub(backupMade(made[0])) >= b.Every) {
		listErr = u.store.backUp(ctx, b, now)
	}
	return errors.Join(err, listErr)
}

// List returns the files of the backups that a bot made by itself, the newest first.
func (b Backups) List() (files []string, err error) {
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
	return files, nil
}

// backupMade returns when a backup was made, by its name; zero if it is another file.
func backupMade(file string) time.Time {
	name, isOurs := strings.CutPrefix(filepath.Base(file), backupPrefix)
	name, isDatabase := strings.CutSuffix(name, backupSuffix)
	made, err := time.Parse(backupTime, name)
	if !isOurs || !isDatabase || err != nil {
		return time.Time{}
	}
	return made
}

// backUp makes a backup and removes the oldest ones.
func (s *Store) backUp(ctx context.Context, b Backups, now time.Time) error {
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of backups: %w", err)
	}
	info, err := os.Stat(s.path)
	if err == nil {
		err = checkRoom(b.Dir, info.Size())
	}
	if err != nil {
		return fmt.Errorf("make a backup: %w", err)
	}
	b.removeParts()
	file := filepath.Join(b.Dir, backupPrefix+now.UTC().Format(backupTime)+backupSuffix)
	if _, err := s.Upkeep().Backup(ctx, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.log.Debug("backup_made", "file", file)
	return b.remove(b.Keep)
}

// removeParts removes what a process left that was killed while it made a backup.
func (b Backups) removeParts() {
	left, _ := filepath.Glob(filepath.Join(b.Dir, backupFolder+"*"))
	for _, folder := range left {
		_ = os.RemoveAll(folder) // the next time, if not now
	}
}

// remove keeps the newest so many backups.
func (b Backups) remove(keep int) error {
	made, err := b.List()
	for i, file := range made {
		if i >= keep {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

// renewBackups is for after an erasure: the backups made before it hold what was deleted.
func (s *Store) renewBackups(ctx context.Context, b Backups) error {
	if b.Every == 0 {
		return b.remove(0)
	}
	before, err := b.List()
	if err != nil {
		return err
	}
	next := time.Now()
	if len(before) > 0 { // its name must be another one
		if last := backupMade(before[0]); !next.Truncate(time.Second).After(last) {
			next = last.Add(time.Second)
		}
	}
	if err := s.backUp(ctx, b, next); err != nil {
		return err
	}
	return b.remove(1)
}
