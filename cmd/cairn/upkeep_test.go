package main

import (
	"bytes"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/config"
	"cairn/store"
)

// backups returns the files of automatic backups.
func (p folder) backups() []string {
	p.t.Helper()
	return check.Must(filepath.Glob(filepath.Join(p.dir, "data", "backups", "cairn-*.db")))(p.t)
}

// chatUntil runs a bot until a condition is true.
func (p folder) chatUntil(happened func() bool) {
	p.t.Helper()
	l := p.start("chat", "--json")
	l.say(`{"text":"hello"}`)
	l.until(`"reply"`)
	eventually(p.t, "it has happened", l.errs.String, happened)
	l.end()
}

func TestUpkeep(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("the key is kangaroo\n", "chat")
	p.chatUntil(func() bool { return len(p.backups()) == 1 })
	first := check.Must(os.Stat(p.backups()[0]))(t)
	p.must("/forget me yes\n", "chat")
	db := check.Must(sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db")))(t)
	defer db.Close()
	if _, err := db.Exec("UPDATE unscrubbed SET id = 1 WHERE id = (SELECT min(id) FROM unscrubbed)"); err != nil { // that was long ago
		t.Fatal(err)
	}
	p.chatUntil(func() bool { // a backup of the same second has the same name
		made := p.backups()
		now, err := os.Stat(made[0])
		return err == nil && len(made) == 1 && !os.SameFile(first, now)
	})
	for _, file := range append(p.backups(), filepath.Join(p.dir, "data", "cairn.db"), filepath.Join(p.dir, "data", "cairn.db-wal")) {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		check.That(t, !bytes.Contains(text, []byte("kangaroo")), "%s contains the deleted text", file)
	}
}

// TestUpkeepFails: a failure is logged once, and reported to watchers, until upkeep works again.
func TestUpkeepFails(t *testing.T) {
	dir := t.TempDir()
	data := check.Must(store.Open(t.Context(), store.Options{Dir: dir}))(t)
	defer data.Close()
	c := check.Must(data.Conversation(t.Context(), "terminal:general"))(t)
	check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "1", Text: "hello"}))(t)
	var log bytes.Buffer
	b := &bot{log: slog.New(slog.NewTextHandler(&log, nil)), store: data, ctx: t.Context()}
	b.current.Store(&runtimeConfig{settings: config.Settings{DataDir: dir, Backup: config.Backup{Every: compactor.Duration(time.Hour), Keep: 1}}})
	blocked := filepath.Join(dir, store.BackupsName)
	check.NoError(t, os.WriteFile(blocked, nil, 0o600))
	b.upkeepOnce()
	b.upkeepOnce()
	if n := strings.Count(log.String(), "upkeep_failed"); n != 1 || !b.upkeepFailure.On() {
		t.Errorf("got %d log lines: %s", n, &log)
	}
	check.NoError(t, os.Remove(blocked))
	b.upkeepOnce()
	if made, err := filepath.Glob(filepath.Join(blocked, "cairn-*.db")); err != nil || len(made) != 1 || b.upkeepFailure.On() || !strings.Contains(log.String(), "upkeep_works_again") {
		t.Errorf("%v, %v: %s", made, err, &log)
	}
}
