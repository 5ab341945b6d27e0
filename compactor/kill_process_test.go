package compactor_test

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"

	"github.com/mattn/go-sqlite3"
)

// statementCounter counts what the writing connections of this process are about to do: each
// transaction, each writing statement and each commit. Statements between them only read. The
// process stops at each until the parent has copied its folder.
type statementCounter struct {
	armed atomic.Bool
	n     atomic.Int64
}

func (s *statementCounter) next() {
	if !s.armed.Load() {
		return
	}
	fmt.Printf("at %d\n", s.n.Add(1))
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
}

func (s *statementCounter) watch(t *testing.T) {
	db := check.Must(sql.Open("sqlite3", ":memory:"))(t)
	defer db.Close()
	db.Driver().(*sqlite3.SQLiteDriver).ConnectHook = func(conn *sqlite3.SQLiteConn) error {
		rows, err := conn.Query("PRAGMA query_only", nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		reader := make([]driver.Value, 1)
		if err := rows.Next(reader); err != nil || reader[0] == int64(1) {
			return err
		}
		var last string // a statement is announced for each column it writes
		conn.RegisterAuthorizer(func(op int, what, _, _ string) int {
			switch op {
			case sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
				if this := fmt.Sprint(op, what); this != last || op != sqlite3.SQLITE_UPDATE {
					last = this
					s.next()
				}
			}
			return sqlite3.SQLITE_OK
		})
		conn.RegisterUpdateHook(func(int, string, string, int64) { last = "" })
		conn.RegisterCommitHook(func() int { s.next(); return 0 })
		return nil
	}
}

// childReport is what a child reports before it is killed.
type childReport struct {
	Strokes  int64
	Glances  []string // before the first step, and after each
	Memories []string
	Kinds    []compactor.Kind // of the stack at the end
}

const killAct, killDir = "CAIRN_TEST_KILL_ACT", "CAIRN_TEST_KILL_DIR"

// perform runs in the child: it performs the act on the folder, reports which step it starts and
// what became of them, and waits at each number, at the last one for its end.
func perform(t *testing.T) {
	a := acts[os.Getenv(killAct)]
	s := &statementCounter{}
	s.watch(t)
	dir := os.Getenv(killDir)
	l := a.open(t, dir, cmp.Or(a.window, spacious))
	l.look = openToLook(t, dir)
	told := childReport{Glances: []string{a.diskState(t, l.look)}}
	for _, step := range a.steps {
		fmt.Println("step")
		s.armed.Store(true)
		step(l)
		s.armed.Store(false)
		told.Glances = append(told.Glances, a.diskState(t, l.look))
	}
	told.Strokes, told.Memories = s.n.Load()+1, remembered(t, l.look)
	for _, row := range l.c.Status().Stack {
		told.Kinds = append(told.Kinds, row.Kind)
	}
	fmt.Printf("%s\n", check.Must(json.Marshal(told))(t))
	s.armed.Store(true)
	s.next() // after the last one
	t.Fatal("it was not killed")
}

// runAndKill performs an act on a copy of the folder in a child. At its nth number it copies the
// child's folder to base/n: since nothing writes then, these are the files that a kill leaves. At
// the last one it kills the child, and compares. It returns in which step each copy was made. Most
// statements leave the same files as the one before, since a transaction is written at its commit:
// those have no copy of their own.
func runAndKill(t *testing.T, name, prepared, base string) (told childReport, steps []int) {
	dir := filepath.Join(base, "live")
	check.NoError(t, os.CopyFS(dir, os.DirFS(prepared)))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillAtEveryStatement$")
	cmd.Env = append(os.Environ(), killAct+"="+name, killDir+"="+dir)
	in := check.Must(cmd.StdinPipe())(t)
	out := check.Must(cmd.StdoutPipe())(t)
	check.NoError(t, cmd.Start())
	step, said, last := -1, "", ""
	for lines := bufio.NewReader(out); told.Strokes == 0 || int64(len(steps)) < told.Strokes; {
		line, err := lines.ReadString('\n')
		said += line
		check.Require(t, err == nil, "it ended after %d numbers: %v\n%s", len(steps), err, said)
		switch {
		case line == "step\n":
			step++
		case strings.HasPrefix(line, "{"):
			check.NoError(t, json.Unmarshal([]byte(line), &told))
		case strings.HasPrefix(line, "at "):
			steps = append(steps, step)
			if now := fmt.Sprint(step, listFiles(t, dir)); now != last {
				check.NoError(t, os.CopyFS(filepath.Join(base, fmt.Sprint(len(steps))), os.DirFS(dir)))
				last = now
			}
			if int64(len(steps)) != told.Strokes {
				check.Must(in.Write([]byte("\n")))(t)
			}
		}
	}
	check.NoError(t, cmd.Process.Kill())
	check.ErrorContains(t, "the child", cmd.Wait(), "signal: killed")
	check.Equal(t, "files after the kill", fmt.Sprint(step, listFiles(t, dir)), last)
	return told, steps
}

// listFiles returns a folder's files with the hashes of their bytes, without the index of the log,
// which the first process that opens the folder writes anew.
func listFiles(t *testing.T, dir string) (all string) {
	t.Helper()
	for _, file := range check.Must(filepath.Glob(filepath.Join(dir, "*")))(t) {
		if !strings.HasSuffix(file, "-shm") {
			all += fmt.Sprintf("%s %x\n", file, sha256.Sum256(check.Must(os.ReadFile(file))(t)))
		}
	}
	return all
}
