package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/config"
	"cairn/store"
	"cairn/testkit/check"
)

func TestBackupAndRestore(t *testing.T) {
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
	p.fails(exitFailed, "a.txt is damaged or not a backup of cairn: nothing was changed; name another\n", "restore", p.write("a.txt", "hello"))
}

// TestUpkeep: a bot makes a backup by itself, and a new one after deleted text left the database.
func TestUpkeep(t *testing.T) {
	p := newFolder(t)
	backups := func() []string {
		return check.Must(filepath.Glob(filepath.Join(p.dir, "data", "backups", "cairn-*.db")))(t)
	}
	chatUntil := func(happened func() bool) {
		l := p.start("chat", "--json")
		l.ask(`{"text":"hello"}`, `"reply"`)
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
	check.Contains(t, "log", log.String(), "upkeep_recovered")
}

// An unusable database is never overwritten, and the message says what to do.
func TestUnusableDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(p folder, file string)
		code  int
		words []string
	}{
		"no database": {func(_ folder, file string) { os.WriteFile(file, []byte(strings.Repeat("hello ", 2000)), 0o600) }, exitDamaged, []string{"cairn.db is damaged, nothing was changed: file is not a database", "to restore: stop the bot, run `cairn"}},
		"emptied":     {func(_ folder, file string) { os.Truncate(file, 0) }, exitDamaged, []string{"the file is empty", "to restore: stop the bot, run `cairn"}},
		"cut short":   {func(_ folder, file string) { os.Truncate(file, 20_000) }, exitDamaged, []string{"damaged, nothing was changed", "to restore: stop the bot, run `cairn"}},
		"newer":       {func(p folder, _ string) { p.execute("PRAGMA user_version = 99") }, exitDamaged, []string{"written by a newer cairn", "update cairn"}},
		"another program's": {func(p folder, file string) {
			os.Remove(file)
			p.execute("CREATE TABLE songs (name TEXT)")
		}, exitFailed, []string{"is another program's database: choose another data folder"}},
	} {
		p := newFolder(t)
		p.write("run.toml", "[discord]\ntoken = \"file:token\"\n")
		p.write("token", "token")
		p.must("I like tea\n", "chat")
		p.must("", "backup", "b.db")
		c.spoil(p, filepath.Join(p.dir, "data", "cairn.db"))
		was := p.read("data/cairn.db")
		for _, args := range [][]string{{"chat"}, {"run", "--config", "run.toml"}} {
			what := fmt.Sprintf("%s: %q", name, args)
			r := p.runHere("hello\n", args)
			check.Equal(t, what+": exit code", r.code, c.code)
			check.Equal(t, what+": output", r.out, "")
			check.Contains(t, what, r.err, c.words...)
		}
		check.Equal(t, name+": the file has changed", p.read("data/cairn.db"), was)
		p.doctorSays(exitFailed, "WRONG  data")
		p.must("", "restore", "b.db")
		check.Contains(t, name+": restored", p.must("", "transcript"), "I like tea")
	}
}

// asNobody runs the program as a user who may not write into the folder.
func (p folder) asNobody(input string, args ...string) (code int, out string) {
	p.t.Helper()
	data := filepath.Join(p.dir, "data")
	covered := filepath.Join(p.dir, "covered")
	_ = os.Mkdir(covered, 0o777)
	for path, mode := range map[string]os.FileMode{
		filepath.Dir(p.dir): 0o755, p.dir: 0o755, covered: 0o777, filepath.Join(data, "cairn.db"): 0o444, filepath.Join(data, "cairn.lock"): 0o444, data: 0o555,
	} {
		check.NoError(p.t, os.Chmod(path, mode))
	}
	defer os.Chmod(data, 0o700)
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "GOCOVERDIR="+covered) // with -cover the other user writes there
	if os.Getuid() == 0 {                            // root may write everything
		cmd.Path = "/proc/self/exe"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Stdin = strings.NewReader(input)
	text, _ := cmd.CombinedOutput() // the exit code shows the error
	return cmd.ProcessState.ExitCode(), string(text)
}

func TestReadOnlyFolder(t *testing.T) {
	p := newFolder(t)
	p.must("I like tea\n", "chat")
	for _, c := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"chat"}, exitFailed, []string{"lock data folder: check the permissions of it"}},
		{[]string{"backup", filepath.Join(p.dir, "covered", "b.db")}, exitFailed, []string{"check the permissions of it and its folder"}},
		{[]string{"doctor"}, exitFailed, []string{"every page can be read", "is not writable for the user who runs this", "2 things are wrong"}},
		{[]string{"transcript"}, 0, []string{"I like tea"}},
		{[]string{"memories", "list"}, 0, []string{"no memories found"}},
	} {
		code, out := p.asNobody("hello\n", c.args...)
		check.Equal(t, c.args[0]+": exit code", code, c.code)
		check.Contains(t, c.args[0], out, c.words...)
	}
}

// TestDamagedWriteAheadLog: people get a notice within seconds.
func TestDamagedWriteAheadLog(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(file *os.File, size int64) error{
		"truncated": func(file *os.File, _ int64) error { return file.Truncate(0) },
		"cut":       func(file *os.File, size int64) error { return file.Truncate(size / 8) },
		"overwritten": func(file *os.File, size int64) error {
			return check.ErrorOf(file.WriteAt([]byte(strings.Repeat("damaged ", int(size/8))), 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, f, r := served(t, saying("Understood."))
			p.sayOnBoth("one " + strings.Repeat("word ", 300))
			p.answered(r, "Understood.", 1)
			file := check.Must(os.OpenFile(filepath.Join(f.dir, "data", "cairn.db-wal"), os.O_WRONLY, 0))(t)
			defer file.Close()
			check.NoError(t, damage(file, check.Must(file.Stat())(t).Size()))
			p.sayOnBoth("two")
			// The removed part may be in the database already, or be written anew: then people are
			// answered.
			p.until(r, "nobody is left without a word", func() bool {
				answered := p.answers("Understood.")
				for i, said := range [][]string{p.onDiscord(), p.onSlack()} {
					if answered[i] < 2 && !strings.Contains(strings.Join(said, " "), "My database is damaged") {
						return false
					}
				}
				return true
			})
		})
	}
}
