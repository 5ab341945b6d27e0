package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/config"
	"cairn/internal/check"
	"cairn/store"
)

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I like tea\n", "chat")
	check.HasPrefix(t, "output", p.must("", "backup", "b.db"), "Backed up to b.db, checked: 2 messages of 1 conversation, 0 memories, ")
	p.fails(exitUsage, "name a new file", "backup", "b.db")
	was := p.must("", "transcript", "--json")
	p.must("I like coffee\n", "chat")
	all := parse[struct{ File, Aside string }](t, p.must("", "restore", "b.db", "--json"))
	check.Require(t, len(all) == 1 && all[0].File == "b.db" && all[0].Aside != "", "got %+v", all)
	check.Equal(t, "transcript", p.must("", "transcript", "--json"), was)
	p.fails(exitNotFound, "none.db: not found: name a file that `cairn backup` wrote\n", "restore", "none.db")
	p.fails(exitFailed, "a.txt is damaged or no backup of cairn: nothing was changed; name another\n", "restore", p.write("a.txt", "hello"))
}

// TestUpkeep: a bot makes a backup by itself, and a new one after deleted text left the database.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	backups := func() []string {
		return check.Must(filepath.Glob(filepath.Join(p.dir, "data", "backups", "cairn-*.db")))(t)
	}
	chatUntil := func(happened func() bool) {
		l := p.start("chat", "--json")
		l.say(`{"text":"hello"}`)
		l.until(`"reply"`)
		eventually(t, "it has happened", l.errs.String, happened)
		l.end()
	}
	p.must("the key is kangaroo\n", "chat")
	chatUntil(func() bool { return len(backups()) == 1 })
	first := check.Must(os.Stat(backups()[0]))(t)
	p.must("/forget me yes\n", "chat")
	p.execute("UPDATE unscrubbed SET id = 1 WHERE id = (SELECT min(id) FROM unscrubbed)") // that was long ago
	chatUntil(func() bool {                                                               // a backup of the same second has the same name
		made := backups()
		now, err := os.Stat(made[0])
		return err == nil && len(made) == 1 && !os.SameFile(first, now)
	})
	p.has(false, "kangaroo")
}

// TestUpkeepFails: a failure is logged once, and reported to watchers, until upkeep works again.
func TestUpkeepFails(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	data := p.store()
	c := check.Must(data.Conversation(t.Context(), "terminal:general"))(t)
	check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "1", Text: "hello"}))(t)
	var log bytes.Buffer
	b := &bot{log: slog.New(slog.NewTextHandler(&log, nil)), store: data, ctx: t.Context()}
	dir := filepath.Join(p.dir, "data")
	b.current.Store(&runtimeConfig{settings: config.Settings{DataDir: dir, Backup: config.Backup{Every: compactor.Duration(time.Hour), Keep: 1}}})
	blocked := filepath.Join(dir, store.BackupsName)
	check.NoError(t, os.WriteFile(blocked, nil, 0o600))
	b.upkeepOnce()
	b.upkeepOnce()
	check.Equal(t, "log lines", strings.Count(log.String(), "upkeep_failed"), 1)
	check.That(t, b.upkeepFailure.On(), "no failure is reported")
	check.NoError(t, os.Remove(blocked))
	b.upkeepOnce()
	check.Len(t, "backups", check.Must(filepath.Glob(filepath.Join(blocked, "cairn-*.db")))(t), 1)
	check.That(t, !b.upkeepFailure.On(), "a failure is reported still")
	check.Contains(t, "log", log.String(), "upkeep_works_again")
}
