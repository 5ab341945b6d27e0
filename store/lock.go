// One bot per data folder: a lock that vanishes with its process.

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// lock is a locked file. It holds the process ID and, on the next line, whether a database was
// created here. The lock belongs to the open file, so it vanishes with the process however that
// ends; the process ID alone keeps no one out.
type lock struct {
	file *os.File
	held bool // a database existed when the lock was acquired
}

// createdNote is the line that says a database was created.
const createdNote = "holds a database"

func takeLock(path string) (*lock, error) {
	file, err := openPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		holder, _, _ := strings.Cut(note(file), "\n") // naming the holder is a courtesy
		return nil, fmt.Errorf("%w: process %s holds %s: stop it or name another folder", ErrInUse, holder, path)
	}
	l := &lock{file: file, held: strings.Contains(note(file), createdNote)}
	if err := l.write(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// note returns the content of the file.
func note(file *os.File) string {
	text := make([]byte, 64)
	n, _ := file.ReadAt(text, 0) // empty if it cannot be read
	return strings.TrimSpace(string(text[:n]))
}

func (l *lock) write() error {
	text := fmt.Sprintln(os.Getpid())
	if l.held {
		text += createdNote + "\n"
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	if err == nil {
		err = l.file.Truncate(int64(len(text)))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", l.file.Name(), err)
	}
	return nil
}

// noteCreated notes that a database exists from now on: if the file is empty later, someone emptied
// it.
func (l *lock) noteCreated() error {
	if l.held {
		return nil
	}
	l.held = true
	return l.write()
}

// begin notes that no database exists yet, or none any more, and that an empty file is one being
// created.
func (l *lock) begin(path string) error {
	if _, err := os.Stat(path); !l.held || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.held = false
	return l.write()
}

// release leaves the file in place: removing it would free the name for a second lock while
// another process holds the first. A child process that is just starting briefly has the file
// open too, so closing alone would leave it locked.
func (l *lock) release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
