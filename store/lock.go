// One bot per data folder: a lock that vanishes with its process.

package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock is a locked file, which holds the process ID. The lock belongs to the open file, so it
// vanishes with the process however that ends; the process ID alone keeps no one out.
type lock struct{ file *os.File }

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
		holder := make([]byte, 20)
		n, _ := file.ReadAt(holder, 0)                   // naming the holder is a courtesy
		pid, _, _ := bytes.Cut(holder[:n], []byte("\n")) // older versions wrote more lines
		return nil, fmt.Errorf("%w: process %s holds %s: stop it or name another folder", ErrInUse, pid, path)
	}
	l := &lock{file}
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), l.release())
	}
	return l, nil
}

// release leaves the file in place: removing it would free the name for a second lock while
// another process holds the first. A child process that is just starting briefly has the file
// open too, so closing alone would leave it locked.
func (l *lock) release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
