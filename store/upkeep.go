// Upkeep: a running bot's backups, and removing deleted text from the files.
//
// SQLite overwrites what it deletes, but the write-ahead log keeps old pages, and a page that was split keeps copies of the rows
// that moved. VACUUM rewrites every page. Writers wait for it, 15 ms or more per megabyte, so the bot runs it at most once a day, in
// the quietest hour.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

// Backups say which backups a bot makes by itself.
type Backups struct {
	Every time.Duration // 0: none
	Keep  int           // how many of the newest stay
	Dir   string
}

// BackupsName is the folder of backups in the data folder.
const BackupsName = "backups"

// backupName is the name of an automatic backup, in time's form.
const backupName = "cairn-20060102T150405Z.db"

// Run does what is due: it deletes what people have used on earlier days, erases deleted text from the files, and makes a backup. The bot calls it every few minutes.
func (u Upkeep) Run(ctx context.Context, b Backups, now time.Time) error {
	when, erase, err := u.eraseAt(ctx, now)
	err = errors.Join(err, u.store.sweepPeople(ctx, Day(now)))
	if err == nil && erase && !when.After(now) {
		started := time.Now()
		err = u.EraseFiles(ctx, b)
		if err == nil {
			u.store.log.Info("deleted_text_erased", "took", time.Since(started).Round(time.Millisecond).String())
			return nil // the erasure has made a new backup
		}
	}
	return errors.Join(err, u.store.engine.keepBackup(ctx, b, now))
}

func (s *sqlite) keepBackup(ctx context.Context, b Backups, now time.Time) error {
	if b.Every == 0 {
		return nil
	}
	due, err := s.backupDue(ctx, b, now)
	if due {
		err = s.backUp(ctx, b, now)
	}
	return err
}

// backupDue reports whether to make a backup. The first one waits for messages: the copy of an empty database would be the only
// one until the next is due.
func (s *sqlite) backupDue(ctx context.Context, b Backups, now time.Time) (due bool, err error) {
	backups, err := b.List(now)
	if err != nil {
		return false, err
	}
	if len(backups) > 0 {
		age := now.Sub(backupTime(backups[0]))
		return age >= b.Every || age < 0, nil
	}
	err = s.store.look(ctx, oneRead, func(tx *Tx) { due = exists(tx, "SELECT 1 FROM messages UNION ALL SELECT 1 FROM inbox") })
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
		if !backupTime(e.Name()).IsZero() {
			files = append(files, filepath.Join(b.Dir, e.Name()))
		}
	}
	slices.Reverse(files) // names are times
	past := max(slices.IndexFunc(files, func(file string) bool { return !backupTime(file).After(now) }), 0)
	return slices.Concat(files[past:], files[:past]), nil
}

// backupTime returns the time in a backup's name; zero if the file is something else.
func backupTime(file string) time.Time {
	at, _ := time.Parse(backupName, filepath.Base(file))
	return at
}

func (s *sqlite) backUp(ctx context.Context, b Backups, now time.Time) error {
	info, err := os.Stat(s.path)
	err = cmp.Or(err, os.MkdirAll(b.Dir, 0o700))
	if err == nil {
		s.makeRoom(b.Dir)
		err = checkRoom(b.Dir, info.Size())
	}
	if err != nil {
		return fmt.Errorf("make a backup: %w", err)
	}
	file := filepath.Join(b.Dir, now.UTC().Format(backupName))
	if _, err := s.backup(ctx, file); err != nil { // it replaces one of the same second
		return err
	}
	s.store.log.Debug("backup_made", "file", file)
	return b.remove(now, b.Keep)
}

// remove keeps only the newest backups, keep of them.
func (b Backups) remove(now time.Time, keep int) error {
	backups, err := b.List(now)
	for i, file := range backups {
		if i >= keep {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

// eraseWithin is how long deleted text may stay in the files while the bot runs.
const eraseWithin = 24 * time.Hour

// errNoRoom is returned when the disk has no room to rewrite the database.
var errNoRoom = errors.New("not enough room on the disk")

// Erase is Update for functions that delete; what f deleted is recorded as still in the files, see eraseAt.
func (s *Store) Erase(ctx context.Context, f func(tx *Tx)) error {
	return s.Update(ctx, func(tx *Tx) { erase(tx, f) })
}

func erase(tx *Tx, f func(tx *Tx)) {
	f(tx)
	if tx.wrote() > 0 {
		noteErasure(tx)
	}
}

// noteErasure records a deletion: its number is the time in milliseconds, or the next free one. Those of earlier versions are
// small, and due immediately.
func noteErasure(tx *Tx) {
	tx.do(`INSERT INTO unscrubbed (id)
		SELECT CASE WHEN max(id) >= CAST(?1 AS BIGINT) THEN max(id) + 1 ELSE CAST(?1 AS BIGINT) END FROM unscrubbed`, nowMillis())
}

// eraseAt returns when to call EraseFiles: at the start of the quietest hour of the day, judged by the messages of the last
// seven days, and at most eraseWithin after the oldest deletion. due: the files hold something deleted.
func (u Upkeep) eraseAt(ctx context.Context, now time.Time) (when time.Time, due bool, err error) {
	err = u.store.View(ctx, func(tx *Tx) {
		var oldest int64
		due = tx.row("SELECT id FROM unscrubbed ORDER BY id LIMIT 1").Found(&oldest)
		if !due {
			return
		}
		when = nextQuietHour(traffic(tx, now.Add(-7*24*time.Hour)), now)
		if latest := utcTime(oldest).Add(eraseWithin); latest.Before(when) {
			when = latest
		}
	})
	return when, due, Fail("look for deleted text in the files", err)
}

// traffic counts the messages stored since a time, by hour of the day in UTC; of each conversation
// only the newest, because the times have no index.
func traffic(tx *Tx, since time.Time) (hours [24]int) {
	const newest = 1000
	eachRow(tx, func(rows *sql.Rows) error {
		var hour, n int
		err := rows.Scan(&hour, &n)
		hours[hour] = n
		return err
	}, `SELECT saved_at / 3600000 % 24, count(*) FROM conversations c
		JOIN messages m ON m.id BETWEEN c.id << 32 | CASE WHEN c.next_seq > ?1 THEN c.next_seq - ?1 ELSE 1 END AND c.id << 32 | 4294967295
		WHERE saved_at >= ?2 GROUP BY 1`, newest, since.UnixMilli())
	return hours
}

// nextQuietHour returns when the hour with the least traffic begins, the first of equal ones; now if it already has.
func nextQuietHour(hours [24]int, now time.Time) time.Time {
	start := now.UTC().Truncate(time.Hour)
	best := start
	for i := 1; i < 24; i++ {
		if next := start.Add(time.Duration(i) * time.Hour); hours[next.Hour()] < hours[best.Hour()] {
			best = next
		}
	}
	if best.Before(now) {
		return now
	}
	return best
}

// EraseFiles removes deleted text from the files: it rewrites the database, makes a fresh backup and removes the older ones.
// Writers wait during the rewrite. Errors: errNoRoom; ErrInUse when another program reads an
// older state of the database. After an error the deletion stays recorded; another attempt rewrites the database only if
// that had failed, or for newer deletions.
func (u Upkeep) EraseFiles(ctx context.Context, b Backups) error { return u.store.engine.erase(ctx, b) }

func (s *sqlite) erase(ctx context.Context, b Backups) error {
	newest := int64(0)
	err := s.store.write.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM unscrubbed").Scan(&newest)
	if err == nil && newest > s.rewritten {
		err = s.vacuum(ctx)
		if err == nil {
			s.rewritten = newest
		}
	}
	if err == nil {
		err = s.emptyLog(ctx)
	}
	if err != nil {
		return fmt.Errorf("rewrite the database: %w", s.explain(err))
	}
	now := time.Now()
	b.Keep = 1
	if b.Every == 0 { // the backups made before it hold deleted text
		err = b.remove(now, 0)
	} else {
		err = s.backUp(ctx, b, now)
	}
	if err != nil {
		return fmt.Errorf("remove backups that contain deleted text: %w", err)
	}
	s.rewritten = 0 // the next deletion has a smaller id if the clock is set back
	_, err = s.store.write.ExecContext(ctx, "DELETE FROM unscrubbed WHERE id <= ?", newest)
	return s.explain(err)
}

// Vacuum rewrites the database.
func (u Upkeep) Vacuum(ctx context.Context) error { return u.store.engine.vacuum(ctx) }

// vacuum rewrites the database. The log still has the earlier pages.
func (s *sqlite) vacuum(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	// SQLite writes it to a temporary file and from there to the log, both beside the database.
	if err := checkRoom(filepath.Dir(s.path), info.Size()*21/10); err != nil {
		return err
	}
	return s.store.inOrder(ctx, func() error {
		_, err := s.store.write.ExecContext(ctx, "VACUUM")
		return err
	})
}

// emptyLog moves the write-ahead log into the database and truncates it. A reader of an older
// state blocks that, for which writers wait only briefly: the next attempt comes in minutes.
func (s *sqlite) emptyLog(ctx context.Context) error {
	db := open(s.path, "_journal_mode=WAL&_busy_timeout=500&_synchronous=FULL")
	defer db.Close()
	blocked := 0
	frames := 0
	moved := 0
	err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&blocked, &frames, &moved) // no writer waits for it
	if err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&blocked, &frames, &moved)
	}
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked) || err == nil && blocked != 0 {
		return fmt.Errorf("%w: another program reads it", ErrInUse)
	}
	return err
}

// checkRoom returns errNoRoom if the disk of a folder has fewer than need bytes free.
func checkRoom(dir string, need int64) error {
	free, err := freeBytes(dir)
	if err != nil {
		return err
	}
	if free < need {
		return fmt.Errorf("%w: %s needs %d MB and has %d MB", errNoRoom, dir, need>>20+1, free>>20)
	}
	return nil
}

func freeBytes(dir string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("look for room in %s: %w", dir, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}

// OnServer reports whether the database is on a server, and not in a file of this machine.
func (u Upkeep) OnServer() bool {
	_, ok := u.store.engine.(*postgreSQL)
	return ok
}

// Place says where the database is: the path of its file, or an address without a password.
func (u Upkeep) Place() string { return u.store.engine.place() }
