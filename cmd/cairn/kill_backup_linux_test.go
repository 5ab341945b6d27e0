package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
)

// partsIn returns the files of unfinished copies in a folder.
func (p folder) partsIn(dir string) []string {
	p.t.Helper()
	names := check.Must(filepath.Glob(filepath.Join(p.dir, dir, ".cairn-*")))(p.t)
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "mine") })
}

// stoppedWhileCopying starts a command that copies the database, and stops it, still alive, while its part is in dir. TRY in args
// is a number.
func (p folder) stoppedWhileCopying(dir string, args ...string) (kill func(), part string) {
	p.t.Helper()
	for try := range 50 { // it may be too fast
		cmd := p.command(strings.Fields(strings.ReplaceAll(strings.Join(args, " "), "TRY", fmt.Sprint(try)))...)
		before := p.partsIn(dir)
		check.NoError(p.t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // it is killed
			close(ended)
		}()
		kill = func() {
			_ = cmd.Process.Kill()
			<-ended
		}
		p.t.Cleanup(kill)
		isNew := func(name string) bool { return !slices.Contains(before, name) }
		eventually(p.t, "the copy is there", func() string { return fmt.Sprint(args) }, func() bool {
			select {
			case <-ended:
				return true
			default:
				return slices.ContainsFunc(p.partsIn(dir), isNew)
			}
		})
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		now := p.partsIn(dir)
		if i := slices.IndexFunc(now, isNew); i >= 0 {
			return kill, now[i]
		}
	}
	p.t.Fatal("it was always too fast")
	return nil, ""
}

// addPicture adds a picture of some bytes to the database.
func (p folder) addPicture(bytes int) {
	p.t.Helper()
	db := check.Must(sql.Open("sqlite3", store.File(filepath.Join(p.dir, "data"))))(p.t)
	defer db.Close()
	check.Must(db.Exec("INSERT INTO files (conversation, platform_id, type, data) SELECT id, 'picture', 'image/png', zeroblob(?) FROM conversations LIMIT 1", bytes))(p.t)
}

// TestKilledBackup kills `cairn backup` and `cairn restore` with SIGKILL while they copy. The next one removes what they left, and
// nothing else: not what a running one writes, and no file of a person.
func TestKilledBackup(t *testing.T) {
	p := importFolder(t)
	p.must("", "import", "--channel", "past", "past.jsonl")
	p.addPicture(40 << 20) // a copy of less may be made before it is seen
	check.NoError(t, os.Mkdir(filepath.Join(p.dir, "copies"), 0o700))
	for _, dir := range []string{"copies", "data"} {
		p.write(dir+"/.cairn-backup-mine", "notes")
		p.write(dir+"/.cairn-backup-mine.db", "SQLite format 3\x00")
		p.write(dir+"/cairn.db.restored", "of a person")
	}
	p.write("copies/.cairn-backup-2026", "mine: no copy")
	mine := func() {
		t.Helper()
		for _, dir := range []string{"copies", "data"} {
			check.Equal(t, "a person's file", p.read(dir+"/.cairn-backup-mine")+p.read(dir+"/.cairn-backup-mine.db")+p.read(dir+"/cairn.db.restored"), "notesSQLite format 3\x00of a person")
		}
		check.Equal(t, "a person's file", p.read("copies/.cairn-backup-2026"), "mine: no copy")
	}
	kill, part := p.stoppedWhileCopying("copies", "backup", "copies/TRY.db")
	p.must("", "backup", "copies/beside.db")
	check.That(t, slices.Contains(p.partsIn("copies"), part), "the copy of a running backup was removed")
	kill()
	check.That(t, slices.Contains(p.partsIn("copies"), part), "nothing was left: the test shows nothing")
	p.must("", "backup", "copies/after.db")
	check.Len(t, "parts", p.partsIn("copies"), 1) // .cairn-backup-2026
	mine()

	kill, part = p.stoppedWhileCopying("data", "restore", "copies/after.db")
	kill()
	check.That(t, slices.Contains(p.partsIn("data"), part), "nothing was left: the test shows nothing")
	p.must("", "restore", "copies/after.db")
	check.Len(t, "parts", p.partsIn("data"), 0)
	mine()
	p.hasSoundData()
}
