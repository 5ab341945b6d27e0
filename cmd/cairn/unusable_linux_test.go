package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cairn/internal/check"
)

// An unusable database is never overwritten, and the message says what to do.
func TestUnusableDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(p folder, file string)
		code  int
		words []string
	}{
		"no database": {func(_ folder, file string) { os.WriteFile(file, []byte(strings.Repeat("hello ", 2000)), 0o600) }, exitDamaged, []string{"damaged", "`cairn doctor`", "`cairn restore FILE`"}},
		"emptied":     {func(_ folder, file string) { os.Truncate(file, 0) }, exitDamaged, []string{"the file is empty", "`cairn doctor`", "`cairn restore FILE`"}},
		"cut short":   {func(_ folder, file string) { os.Truncate(file, 20_000) }, exitDamaged, []string{"damaged", "`cairn restore FILE`"}},
		"newer":       {func(p folder, _ string) { p.execute("PRAGMA user_version = 99") }, exitDamaged, []string{"written by a newer cairn", "update cairn"}},
		"another program's": {func(p folder, file string) {
			os.Remove(file)
			p.execute("CREATE TABLE songs (name TEXT)")
		}, exitFailed, []string{"is another program's database: choose another data folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFolder(t)
			p.write("run.toml", "[discord]\ntoken = \"file:token\"\n")
			p.write("token", "token")
			p.must("I like tea\n", "chat")
			backup := p.must("", "backup", "b.db")
			file := filepath.Join(p.dir, "data", "cairn.db")
			c.spoil(p, file)
			was := read(t, file)
			for _, args := range [][]string{{"chat"}, {"run", "--config", "run.toml"}} {
				r := p.runHere("hello\n", args)
				check.Equal(t, fmt.Sprintf("%q: exit code", args), r.code, c.code)
				check.Equal(t, fmt.Sprintf("%q: output", args), r.out, "")
				check.Contains(t, fmt.Sprintf("%q", args), r.err, c.words...)
			}
			check.Equal(t, "the file has changed", read(t, file), was)
			p.doctorSays(exitFailed, "WRONG  data")
			p.must("", "restore", "b.db")
			if out := p.must("", "transcript"); !strings.Contains(out, "I like tea") {
				t.Errorf("got restored %s, want %s", out, backup)
			}
		})
	}
}

func (p folder) execute(query string) {
	p.t.Helper()
	db := p.database()
	defer db.Close()
	check.Must(db.Exec(query))(p.t)
}

// A read-only folder, for a user who is not root.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I like tea\n", "chat")
	data, covered := filepath.Join(p.dir, "data"), filepath.Join(p.dir, "covered")
	check.NoError(t, os.Mkdir(covered, 0o777))
	for path, mode := range map[string]os.FileMode{filepath.Dir(p.dir): 0o755, p.dir: 0o755, covered: 0o777, filepath.Join(data, "cairn.db"): 0o444, filepath.Join(data, "cairn.lock"): 0o444, data: 0o555} {
		check.NoError(t, os.Chmod(path, mode))
	}
	defer os.Chmod(data, 0o700)
	backup := filepath.Join(t.TempDir(), "backup.db")
	check.NoError(t, os.Chmod(filepath.Dir(backup), 0o777))
	check.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(backup)), 0o755))
	run := func(args ...string) (code int, out string) {
		cmd := p.command(args...)
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+covered) // with -cover the other user writes there
		if os.Getuid() == 0 {
			cmd.Path = "/proc/self/exe"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		cmd.Stdin = strings.NewReader("hello\n")
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	if code, out := run("chat"); code != exitFailed || !strings.Contains(out, "lock data folder: check who may read and write it") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out := run("backup", backup); code != exitFailed || !strings.Contains(out, "check who may read and write it and its folder") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
