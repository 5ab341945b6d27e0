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
	p.must("the password is xylophon\n", "chat")
	p.chatUntil(func() bool { return len(p.backups()) == 1 })
	first := p.backups()
	db, err := sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	noted := func() (n int) {
		if err := db.QueryRow("SELECT count(*) FROM unscrubbed").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	l := p.start("chat", "--json")
	l.say(`{"id":"1","author":{"id":"9","name":"Bob"},"text":"the key is kangaroo"}`)
	l.until(`"reply"`)
	l.say(`{"type":"delete","id":"1"}`)
	for noted() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	l.in.Close()
	l.rest()
	if _, err := db.Exec("UPDATE unscrubbed SET id = 1"); err != nil { // that was long ago
		t.Fatal(err)
	}
	p.chatUntil(func() bool { return noted() == 0 })
	if made := p.backups(); len(made) != 1 || slices.Equal(made, first) {
		t.Errorf("there are %q, and was %q", made, first)
	}
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
