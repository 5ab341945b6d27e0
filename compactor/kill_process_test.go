package compactor_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"

	"github.com/mattn/go-sqlite3"
)

// statementCounter counts what the writing connections of this process are about to do: each
// transaction, each writing statement and each commit. Statements between them only read. The
// process kills itself at number at; 0: never.
type statementCounter struct {
	armed atomic.Bool
	n     atomic.Int64
	at    int64
}

func (s *statementCounter) next() {
	if !s.armed.Load() {
		return
	}
	if s.n.Add(1) == s.at {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {}
	}
}

func (s *statementCounter) watch() error {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return err
	}
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
	return nil
}

// childReport is the result of a child that was not killed.
type childReport struct {
	Strokes  int64
	Glances  []string // before the first step, and after each
	Memories []string
	Kinds    []compactor.Kind // of the stack at the end
}

const (
	killAct, killAt, killDir = "CAIRN_TEST_KILL_ACT", "CAIRN_TEST_KILL_AT", "CAIRN_TEST_KILL_DIR"
)

// perform runs in the child: it performs the act on the folder, reports which step it starts, and
// kills itself at the given number.
func perform(t *testing.T) {
	a := acts[os.Getenv(killAct)]
	at, err := strconv.ParseInt(os.Getenv(killAt), 10, 64)
	check.NoError(t, err)
	s := &statementCounter{at: at}
	check.NoError(t, s.watch())
	dir := os.Getenv(killDir)
	var told childReport
	l := a.open(t, dir, cmp.Or(a.window, spacious))
	if at == 0 {
		told.Glances = append(told.Glances, a.diskState(t, dir))
	}
	for i, step := range a.steps {
		fmt.Printf("step %d\n", i)
		s.armed.Store(true)
		step(l)
		s.armed.Store(false)
		if at == 0 {
			told.Glances = append(told.Glances, a.diskState(t, dir))
		}
	}
	s.armed.Store(true)
	s.next() // after the last one
	s.armed.Store(false)
	told.Strokes, told.Memories = s.n.Load(), remembered(t, dir)
	for _, row := range l.c.Status().Stack {
		told.Kinds = append(told.Kinds, row.Kind)
	}
	l.close()
	text, err := json.Marshal(told)
	check.NoError(t, err)
	fmt.Printf("%s\n", text)
}

// child performs an act on a copy of the folder in its own process.
func child(t *testing.T, name, prepared, dir string, at int64) (out []byte, err error) {
	check.NoError(t, os.CopyFS(dir, os.DirFS(prepared)))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillAtEveryStatement$")
	cmd.Env = append(os.Environ(), killAct+"="+name, killAt+"="+strconv.FormatInt(at, 10), killDir+"="+dir)
	var told bytes.Buffer
	cmd.Stdout = &told
	forks.Lock()
	err = cmd.Start()
	forks.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	return told.Bytes(), err
}
