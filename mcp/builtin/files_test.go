package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"cairn/internal/check"
)

func sharedFolder(t *testing.T) files {
	t.Helper()
	dir := t.TempDir()
	check.NoError(t, os.CopyFS(dir, fstest.MapFS{
		"secret.txt":              {Data: []byte("the key is under the pot")},
		"shared/plan.md":          {Data: []byte("Plan\nPaint the GATE in May\n")},
		"shared/notes/roses.txt":  {Data: []byte("Twelve roses by the gate.")},
		"shared/picture.png":      {Data: []byte("\x89PNG\x00\x00")},
		"shared/notes/empty.txt":  {},
		"shared/notes/latin1.txt": {Data: []byte("caf\xe9")},
	}))
	for from, to := range map[string]string{"shared/out": "../secret.txt", "shared/up": "..", "shared/etc": "/etc"} {
		check.NoError(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	root := check.Must(os.OpenRoot(filepath.Join(dir, "shared")))(t)
	t.Cleanup(func() { _ = root.Close() }) // the folder is removed with the test
	return files{root}
}

func TestFilesStaysInFolder(t *testing.T) {
	f := sharedFolder(t)
	for _, name := range []string{"../secret.txt", "/etc/passwd", "out", "up/secret.txt", "notes/../../secret.txt", "etc/passwd", "..", "\x00", ""} {
		text, err := f.read(t.Context(), readArguments{Path: name})
		check.That(t, err != nil && !strings.Contains(text+err.Error(), filepath.Dir(f.root.Name())), "read %q: %q, %v", name, text, err)
		check.That(t, name == "" || check.ErrorOf(f.list(t.Context(), listArguments{Folder: name})) != nil, "%q is listed", name)
	}
	check.Equal(t, "search outside the folder", check.Must(f.search(t.Context(), searchArguments{Text: "pot"}))(t), "No shared file contains this.")
}

func TestFilesListsReadsAndSearches(t *testing.T) {
	f := sharedFolder(t)
	list := check.Must(f.list(t.Context(), listArguments{}))(t)
	check.Contains(t, "list", list, "notes/\n", "plan.md  27 bytes\n")
	check.Lacks(t, "list", list, "out")
	check.Equal(t, "list of /", check.Must(f.list(t.Context(), listArguments{Folder: "/"}))(t), list)
	check.Equal(t, "read", check.Must(f.read(t.Context(), readArguments{Path: "/notes/roses.txt"}))(t), "Twelve roses by the gate.")
	check.Equal(t, "search", check.Must(f.search(t.Context(), searchArguments{Text: "gate"}))(t), "notes/roses.txt:1: Twelve roses by the gate.\nplan.md:2: Paint the GATE in May\n")
	check.NoError(t, syscall.Mkfifo(filepath.Join(f.root.Name(), "pipe"), 0o600))
	for _, name := range []string{"picture.png", "notes/latin1.txt", "notes", "none.txt", "pipe"} { // opening a pipe would wait for its writer
		check.That(t, check.ErrorOf(f.read(t.Context(), readArguments{Path: name})) != nil, "%s is read", name)
	}
}
