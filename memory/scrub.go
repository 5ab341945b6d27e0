// Scrubbing: what was deleted leaves the files too.
//
// SQLite overwrites what it deletes, but for two things: the write-ahead log keeps
// pages as they were until it is emptied, and where a page was split, copies of rows
// that moved to its neighbour stay in its unused middle. Both are dealt with here, a
// moment after a deletion, in steps that hold up writers for milliseconds.

package memory

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mattn/go-sqlite3"
)

// scrubber does so for one store. Its file, once open, is so as long as the store is: to
// close one would take the locks of SQLite away, which belong to the process.
type scrubber struct {
	store *Store
	path  string
	file  *os.File // nil until it is needed

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	running sync.WaitGroup
	asked   bool // something is to be scrubbed, or was
	stopped bool
	took    time.Duration // the last time
}

const (
	scrubDelay   = time.Second      // deletions in a row are scrubbed together
	scrubRetry   = 10 * time.Second // readers may hold on to what was
	scrubShare   = 50               // a large file is read at most one fiftieth of the time
	scrubAtOnce  = 1024             // pages are looked at while writers wait
	scrubPragmas = "_journal_mode=WAL&_busy_timeout=100&_synchronous=FULL&_secure_delete=on"
)

// resume has what an earlier process left scrubbed soon.
func (b *scrubber) resume(ctx context.Context) error {
	var due bool
	err := b.store.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM unscrubbed)").Scan(&due)
	if due {
		b.soon(0)
	}
	return err
}

// deleting is update for what deletes something; if it did, the files are scrubbed soon.
func (s *Store) deleting(ctx context.Context, f func(tx *transaction) error) error {
	deleted := false
	var elsewhere []copies
	err := s.update(ctx, func(tx *transaction) error {
		s.elsewhere = nil
		var before, after int
		if err := tx.QueryRow("SELECT total_changes()").Scan(&before); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		if err := tx.QueryRow("SELECT total_changes()").Scan(&after); err != nil || before == after {
			return err
		}
		deleted, elsewhere = true, s.elsewhere
		_, err := tx.Exec("INSERT INTO unscrubbed (id) VALUES (NULL)")
		return err
	})
	if err == nil && deleted {
		s.scrub.soon(scrubDelay)
	}
	if err == nil {
		s.report(elsewhere)
	}
	return err
}

// report tells who watches which messages have changed, see WatchCopies.
func (s *Store) report(elsewhere []copies) {
	for _, c := range elsewhere {
		if s.watch != nil {
			s.watch(c.conversation, c.seqs)
		}
	}
}

// soon has the files scrubbed after so long.
func (b *scrubber) soon(after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = true
	if b.stopped || b.timer != nil {
		return
	}
	b.running.Add(1)
	b.timer = time.AfterFunc(max(after, scrubShare*b.took), b.work)
}

func (b *scrubber) work() {
	defer b.running.Done()
	b.mu.Lock()
	b.timer = nil // what is deleted from here on may be missed
	stopped := b.stopped
	b.mu.Unlock()
	if stopped {
		return
	}
	begun := time.Now()
	done, err := b.scrub(context.Background())
	b.mu.Lock()
	b.took = time.Since(begun)
	b.mu.Unlock()
	if err != nil {
		b.store.log.Warn("what was deleted is not out of the files yet", "error", err)
	}
	if !done {
		b.soon(scrubRetry)
	}
}

// stop ends the work, and tries once more what is left.
func (b *scrubber) stop() {
	b.mu.Lock()
	b.stopped = true
	asked := b.asked
	b.mu.Unlock()
	if !asked {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := b.now(ctx); err != nil {
		b.store.log.Warn("what was deleted is not out of the files yet", "error", err)
	}
}

// now does what is due at once, after what is under way.
func (b *scrubber) now(ctx context.Context) (done bool, err error) {
	b.mu.Lock()
	if b.timer != nil && b.timer.Stop() {
		b.running.Done()
		b.timer = nil
	}
	b.mu.Unlock()
	b.running.Wait()
	return b.scrub(ctx)
}

// close is called when nothing else of this process has the database open any more.
func (b *scrubber) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// scrub empties the log and the unused middles of all pages, if anything was deleted
// since it was done last. done is false if somebody is in the way.
func (b *scrubber) scrub(ctx context.Context) (done bool, err error) {
	var due int64
	if err := b.store.read.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM unscrubbed").Scan(&due); err != nil || due == 0 {
		return err == nil, err
	}
	db := open(b.path, scrubPragmas) // a connection of its own, which has nothing in mind of what the file held
	db.SetMaxOpenConns(1)
	defer db.Close()
	if done, err := b.sweep(ctx, db); err != nil || !done {
		return false, err
	}
	if _, err := db.ExecContext(ctx, "DELETE FROM unscrubbed WHERE id <= ?", due); err != nil {
		return false, busy(err)
	}
	return true, nil
}

// sweep goes through all pages.
func (b *scrubber) sweep(ctx context.Context, db *sql.DB) (done bool, err error) {
	if b.file == nil {
		if b.file, err = os.OpenFile(b.path, os.O_RDWR, 0); err != nil {
			return false, err
		}
	}
	if done, err := b.empty(ctx, db); err != nil || !done {
		return false, err
	}
	info, err := b.file.Stat()
	if err != nil {
		return false, err
	}
	header := make([]byte, 100)
	if _, err := b.file.ReadAt(header, 0); err != nil {
		return false, err
	}
	size, known := pageSize(header, info.Size())
	if !known {
		b.store.log.Warn("a database of this form is not scrubbed: stop the bot and VACUUM it with an SQLite tool, else it may hold bytes of what was deleted")
		return true, nil
	}
	buffer := make([]byte, scrubAtOnce*size)
	for from := size; from < info.Size(); from += int64(len(buffer)) { // the first page holds the schema
		if err := ctx.Err(); err != nil {
			return false, err
		}
		dirty, err := b.clean(buffer, size, from, false)
		if err != nil {
			return false, err
		}
		if dirty {
			if done, err := b.cleanAlone(ctx, db, buffer, size, from); err != nil || !done {
				return false, err
			}
		}
	}
	return b.empty(ctx, db)
}

// pageSize reads the size of pages from the header of a file; known is false if what a
// page holds cannot be told from how it begins: where SQLite keeps pages of references,
// for auto_vacuum, where something keeps bytes of its own in each, as a checksum, or
// where numbers of pages are so large that one could pass for the type of a b-tree's.
func pageSize(header []byte, bytes int64) (size int64, known bool) {
	if size = int64(binary.BigEndian.Uint16(header[16:])); size == 1 {
		size = 1 << 16
	}
	reserved, vacuum := header[20], binary.BigEndian.Uint32(header[52:])
	return size, size >= 512 && reserved == 0 && vacuum == 0 && bytes/size < 1<<24
}

// empty brings the log into the database and leaves it without a byte.
func (b *scrubber) empty(ctx context.Context, db *sql.DB) (done bool, err error) {
	if _, err := checkpoint(ctx, db, "PASSIVE"); err != nil { // so that little is left to do while writers wait
		return false, err
	}
	err = b.alone(ctx, func() error {
		done, err = checkpoint(ctx, db, "TRUNCATE")
		return err
	})
	return done, err
}

func checkpoint(ctx context.Context, db *sql.DB, mode string) (done bool, err error) {
	var blocked, frames, moved int
	err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&blocked, &frames, &moved)
	return err == nil && blocked == 0, busy(err)
}

// alone runs f while no other writer of this process is at work: they wait in line for
// the one connection.
func (b *scrubber) alone(ctx context.Context, f func() error) error {
	turn, err := b.store.write.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(), turn.Close())
}

// cleanAlone cleans some pages while nobody writes. The log is empty then, so that the
// file holds what counts, and the change of a row has all connections forget the pages
// as they were.
func (b *scrubber) cleanAlone(ctx context.Context, db *sql.DB, buffer []byte, size, from int64) (done bool, err error) {
	if _, err := checkpoint(ctx, db, "PASSIVE"); err != nil {
		return false, err
	}
	err = b.alone(ctx, func() error {
		if done, err = checkpoint(ctx, db, "TRUNCATE"); err != nil || !done {
			return err
		}
		return transact(ctx, db, func(tx *transaction) error {
			file, err := filepath.EvalSymlinks(b.path) // beside which SQLite has its log
			if err != nil {
				return err
			}
			info, err := os.Stat(file + "-wal")
			if err != nil || info.Size() > 0 { // another process has written
				done = false
				return err
			}
			if _, err := tx.Exec("INSERT INTO unscrubbed (id) VALUES (NULL)"); err != nil {
				return err
			}
			if _, err := tx.Exec("DELETE FROM unscrubbed WHERE id = last_insert_rowid()"); err != nil {
				return err
			}
			_, err = b.clean(buffer, size, from, true)
			return err
		})
	})
	return done && err == nil, busy(err)
}

// clean overwrites the unused middles of the pages, size bytes each, that stand in the
// file from some byte on and fit the buffer; or it tells whether one holds anything.
func (b *scrubber) clean(buffer []byte, size, from int64, overwrite bool) (dirty bool, err error) {
	n, err := b.file.ReadAt(buffer, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	for page := buffer[:n]; int64(len(page)) >= size; page = page[size:] {
		low, high := unused(page[:size])
		if middle := page[low:high]; len(bytes.Trim(middle, "\x00")) > 0 {
			if dirty = true; !overwrite {
				return true, nil
			}
			clear(middle)
			if _, err := b.file.WriteAt(middle, from+int64(n-len(page)+low)); err != nil {
				return true, err
			}
		}
	}
	if !dirty {
		return false, nil
	}
	return true, b.file.Sync()
}

// unused is the part of a page of SQLite's that holds nothing: in a b-tree, what lies
// between the list of its cells, which grows up, and the cells, which grow down. Any
// other page begins with the number of the next one, so with a zero below 64 GB.
func unused(page []byte) (low, high int) {
	switch page[0] {
	case 2, 5: // inner pages
		low = 12
	case 10, 13: // leaves
		low = 8
	default:
		return 0, 0
	}
	low += 2 * int(binary.BigEndian.Uint16(page[3:]))
	high = int(binary.BigEndian.Uint16(page[5:]))
	if high == 0 {
		high = 1 << 16
	}
	if low > high || high > len(page) { // it is none of these
		return 0, 0
	}
	return low, high
}

// busy makes nothing of an error that only tells that somebody is in the way.
func busy(err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("scrub: %w", explain(err))
	}
	return nil
}
