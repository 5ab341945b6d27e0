// One bot per data folder: a lock that dies with its process.

package memory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// lock is a locked file that holds the process's number. The lock belongs to the
// open file, so it vanishes with the process, however that ends.
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
		holder, _ := io.ReadAll(io.LimitReader(file, 32)) // who it is is a courtesy
		return nil, fmt.Errorf("%w: process %s holds %s: stop it or name another folder", ErrInUse, strings.TrimSpace(string(holder)), path)
	}
	l := &lock{file}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), l.release())
	}
	if _, err := fmt.Fprintf(file, "%d\n", os.Getpid()); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), l.release())
	}
	return l, nil
}

// release leaves the file where it is: to remove it would free the name for a
// second lock while somebody holds the first.
func (l *lock) release() error { return l.file.Close() }
