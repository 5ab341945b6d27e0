package store_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestFolder(t *testing.T) {
	t.Run("our own or an empty folder becomes private; others keep their permissions", func(t *testing.T) {
		for name, c := range map[string]struct {
			fill  func(dir string)
			start fs.FileMode
			want  fs.FileMode
		}{
			"empty":              {func(string) {}, 0o755, 0o700},
			"with our database":  {func(dir string) { leaveStore(t, dir) }, 0o777, 0o700},
			"with another file":  {func(dir string) { write(t, dir, "photo.jpg", "") }, 0o755, 0o755},
			"made for everybody": {func(string) {}, 0o777 | fs.ModeSticky, 0o777 | fs.ModeSticky},
		} {
			dir := t.TempDir()
			c.fill(dir)
			chmod(t, dir, c.start)
			storetest.OpenStore(t, dir)
			check.Equal(t, name, mode(t, dir), c.want)
			check.Equal(t, name+": the database", mode(t, filepath.Join(dir, store.DatabaseName)), 0o600)
		}
	})
	t.Run("another program's database is rejected unchanged", func(t *testing.T) {
		for _, version := range []string{"0", "1"} {
			dir := t.TempDir()
			path := filepath.Join(dir, store.DatabaseName)
			foreign := check.Must(sql.Open("sqlite3", path))(t)
			check.Must(foreign.Exec("CREATE TABLE stones (x); INSERT INTO stones VALUES (1); PRAGMA user_version = " + version))(t)
			foreign.Close()
			chmod(t, path, 0o644)
			chmod(t, dir, 0o755)
			before := read(t, path)
			for _, shared := range []bool{false, true} {
				s, err := store.Open(ctx, store.Options{Dir: dir, Shared: shared})
				if err == nil {
					s.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "is another program's database: choose another data folder") {
					t.Errorf("version %s, shared %v: got %v", version, shared, err)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || mode(t, dir) != 0o755 || mode(t, path) != 0o644 || read(t, path) != before {
				t.Errorf("version %s: the file was changed: %v with %v, %v with %v, %v", version, dir, mode(t, dir), entries, mode(t, path), err)
			}
		}
	})
	t.Run("a reader without write permission can read", func(t *testing.T) {
		dir := t.TempDir()
		leaveStore(t, dir)
		chmod(t, filepath.Dir(dir), 0o755)
		chmod(t, filepath.Join(dir, store.DatabaseName), 0o444)
		chmod(t, dir, 0o555)
		defer chmod(t, dir, 0o700)
		reader := exec.Command(os.Args[0])
		if os.Getuid() == 0 { // root may write everything, so another user must check
			reader.Path = "/proc/self/exe"
			reader.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		reader.Env = append(os.Environ(), "CAIRN_TEST_LOOK="+dir, "GORACE=atexit_sleep_ms=0")
		out, err := reader.CombinedOutput()
		check.NoError(t, err)
		check.Equal(t, fmt.Sprintf("got %s strings.TrimSpace(string(out))", out), strings.TrimSpace(string(out)), "[terminal:general] <nil>")
	})
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func read(t testing.TB, path string) string {
	t.Helper()
	text := check.Must(os.ReadFile(path))(t)
	return string(text)
}

func chmod(t testing.TB, path string, mode fs.FileMode) {
	t.Helper()
	check.NoError(t, os.Chmod(path, mode))
}

// mode returns a file's permissions.
func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info := check.Must(os.Stat(path))(t)
	return info.Mode() & (fs.ModePerm | fs.ModeSticky)
}
