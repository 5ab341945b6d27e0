// A store without conversations, made once.

package storetest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

// emptyStore is the file of a store without conversations. It is made once: a migration in each
// test would take a quarter of the time of all tests.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(Ctx, store.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "cairn.db"))
})

// CopyEmpty puts an empty store into a folder that has none.
func CopyEmpty(t testing.TB, dir string) {
	t.Helper()
	file := filepath.Join(dir, "cairn.db")
	if _, err := os.Stat(file); err == nil {
		return
	}
	text, err := emptyStore()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	check.NoError(t, err)
}
