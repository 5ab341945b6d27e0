package main

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"cairn/internal/check"
)

// killStep is where the program kills itself with SIGKILL: at a change of the database. Only hooks
// of SQLite know of it, not the program.
type killStep struct {
	On   string // the change: "INSERT ON main.inbox"
	When string // of which row; empty: of any
	At   string // atRow, atCommit or after

	// In a migration: at the statement that makes this change, counting tables, columns, indexes and
	// views that are created, and tables whose rows change.
	Schema int
	Copy   bool // those are of the copy that an upgrade makes first
}

const (
	atRow    = "row"    // the row is changed, in a transaction that is not committed
	atCommit = "commit" // the transaction is about to be committed
	after    = "after"  // it was committed, and nothing was written after it
)

const dies = "CAIRN_TEST_DIES" // the variable that tells of a death

// env returns the environment that makes the program die.
func (d killStep) env(t *testing.T) string {
	t.Helper()
	return dies + "=" + string(check.Must(json.Marshal(d))(t))
}

// armKill makes this process die as its environment says.
func armKill() {
	var d killStep
	if json.Unmarshal([]byte(os.Getenv(dies)), &d) != nil { // it is to live
		return
	}
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var life killableModel
	db.Driver().(*sqlite3.SQLiteDriver).ConnectHook = func(conn *sqlite3.SQLiteConn) error {
		meant, err := is(conn, d.Copy)
		if err != nil || !meant {
			return err
		}
		return life.watch(conn, d)
	}
}

// is reports whether a connection is the writing one, or the one that copies, which may write and
// has no foreign keys.
func is(conn *sqlite3.SQLiteConn, copies bool) (bool, error) {
	rows, err := conn.Query("SELECT query_only, foreign_keys FROM pragma_query_only, pragma_foreign_keys", nil)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	value := make([]driver.Value, 2)
	err = rows.Next(value)
	return err == nil && value[0] == int64(0) && (value[1] == int64(0)) == copies, err
}

// killableModel counts a process's steps until it is killed.
type killableModel struct {
	reached, committed atomic.Bool
	made               atomic.Int64 // tables, columns and indexes
}

func (m *killableModel) watch(conn *sqlite3.SQLiteConn, d killStep) error {
	conn.RegisterCommitHook(func() int {
		if m.reached.Load() {
			if d.At == atCommit {
				die()
			}
			m.committed.Store(true)
		}
		return 0
	})
	if d.Schema > 0 {
		conn.RegisterAuthorizer(func(op int, name, _, _ string) int {
			switch op {
			case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
				if strings.HasPrefix(name, "sqlite_") { // part of the others
					break
				}
				fallthrough
			case sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_ALTER_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_CREATE_VIEW:
				if m.made.Add(1) == int64(d.Schema) {
					die()
				}
			}
			return sqlite3.SQLITE_OK
		})
		return nil
	}
	if d.On == "" { // the migration itself, which is the first to commit
		m.reached.Store(true)
		return nil
	}
	conn.RegisterUpdateHook(func(int, string, string, int64) {
		if m.committed.Load() {
			die()
		}
	})
	err := conn.RegisterFunc("dies", func() int {
		if d.At == atRow {
			die()
		}
		m.reached.Store(true)
		return 0
	}, false)
	if err != nil {
		return err
	}
	_, err = conn.Exec(fmt.Sprintf("CREATE TEMP TRIGGER dies AFTER %s WHEN %s BEGIN SELECT dies(); END", d.On, cmp.Or(d.When, "1")), nil)
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
