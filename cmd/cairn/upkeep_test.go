package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// backups are the files of the backups that bots made by themselves.
func (p folder) backups() []string {
	p.t.Helper()
	made, err := filepath.Glob(filepath.Join(p.dir, "data", "backups", "cairn-*.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	return made
}

// chatUntil keeps a bot running until something has happened.
func (p folder) chatUntil(happened func() bool) {
	p.t.Helper()
	l := p.start("chat", "--json")
	l.say(`{"text":"hello"}`)
	l.until(`"reply"`)
	for begun := time.Now(); !happened(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			p.t.Fatal("it did not happen")
		}
	}
	l.in.Close()
	l.rest()
}

func TestUpkeep(t *testing.T) {
	p := newFolder(t)
	p.must("the key is kangaroo\n", "chat")
	p.chatUntil(func() bool { return len(p.backups()) == 1 })
	first := p.backups()
	p.must("/forget me yes\n", "chat")
	db, err := sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE unscrubbed SET id = 1 WHERE id = (SELECT min(id) FROM unscrubbed)"); err != nil { // that was long ago
		t.Fatal(err)
	}
	p.chatUntil(func() bool { return len(p.backups()) == 1 && !slices.Equal(p.backups(), first) })
	for _, file := range append(p.backups(), filepath.Join(p.dir, "data", "cairn.db"), filepath.Join(p.dir, "data", "cairn.db-wal")) {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("kangaroo")) {
			t.Errorf("%s holds what was deleted", file)
		}
	}
}
