package channeltest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cairn/store"
)

// Folder returns a data folder with a database without conversations, which takes less time to copy
// than to make.
func Folder(t testing.TB) string {
	t.Helper()
	data, err := empty()
	dir := t.TempDir()
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "cairn.db"), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// empty returns a new database.
var empty = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(context.Background(), store.Options{Dir: dir})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "cairn.db"))
})
