// Parts: the files into which a copy of the database is written before it gets its name, and what killed processes left of them.

package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// partPrefix and a number are the name of a part.
const partPrefix = ".cairn-backup-"

var partName = regexp.MustCompile(`^\.cairn-backup-\d+$`)

// part is a file that only its owner may read, beside the file that it becomes.
type part struct {
	path   string
	folder *os.File // locked, shared, as long as the part is used
}

// newPart creates an empty part in the folder dir, after it has removed those of processes that were killed.
func newPart(dir string, log *slog.Logger) (*part, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := removeParts(folder); err != nil {
		log.Warn("remove_unfinished_copy_failed", "error", err)
	}
	lockShared(folder)
	file, err := os.CreateTemp(dir, partPrefix)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return &part{path: file.Name(), folder: folder}, file.Close()
}

// close removes the part, unless it got another name.
func (p *part) close() {
	_ = os.Remove(p.path)
	_ = syscall.Flock(int(p.folder.Fd()), syscall.LOCK_UN) // a child that is just starting has the folder open, too
	_ = p.folder.Close()
}

// removeParts removes the parts of a folder, unless a running process may use them: those lock the folder. Where a file system cannot
// lock a folder, nothing is removed.
func removeParts(folder *os.File) error {
	if syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil
	}
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		path := filepath.Join(folder.Name(), name)
		if !partName.MatchString(name) || !isPart(path) {
			continue
		}
		journal := os.Remove(path + "-journal") // of SQLite, which writes the part
		if errors.Is(journal, fs.ErrNotExist) {
			journal = nil
		}
		err = errors.Join(err, journal, os.Remove(path))
	}
	return err
}

// makeRoom removes the parts of a folder before its free space is measured.
func (s *sqlite) makeRoom(dir string) {
	folder, err := os.Open(dir)
	if err == nil {
		err = errors.Join(removeParts(folder), folder.Close())
	}
	if err != nil {
		s.store.log.Warn("remove_unfinished_copy_failed", "error", err)
	}
}

// isPart reports whether a file may be the start of a copy, and no file of somebody who chose its name.
func isPart(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, len(sqliteStart))
	n, err := io.ReadFull(file, start)
	if n == 0 && errors.Is(err, io.EOF) {
		return true
	}
	unwritten := bytes.Count(start, []byte{0}) == len(start) // SQLite may write later pages first
	return string(start) == sqliteStart || unwritten
}

// sqliteStart is how each database begins (SQLite, Database File Format: Magic Header String).
const sqliteStart = "SQLite format 3\x00"

// lockShared locks a folder that another process may have locked for the moment in which it removes parts. Another program that
// keeps it locked does no harm: then nobody removes parts.
func lockShared(folder *os.File) {
	for range 100 {
		if !errors.Is(syscall.Flock(int(folder.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
