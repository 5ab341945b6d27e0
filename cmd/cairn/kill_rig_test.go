// What the kill tests share: where the program kills itself, and a recorder of what it is told and says.

package main

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// recorder sends messages to the program in a folder, and records the replies.
type recorder struct {
	folder
	server *llmtest.Server
	kill   atomic.Pointer[func(at string) bool] // called by the model's server at each step

	said     []string // ids of messages
	accepted map[string]bool
	answers  map[string]map[string]bool // ids of replies, by the message they answer
}

func newRecorder(t *testing.T, p folder, settings ...string) *recorder {
	w := &recorder{folder: p, accepted: map[string]bool{}, answers: map[string]map[string]bool{}}
	w.server = llmtest.Serve(t, w.model)
	writeServerSettings(p, w.server, append([]string{"[agents.compaction]", "prepare_threshold = 0", "stack_budget = 0.02", "rollup_fan_in = 3"}, settings...)...)
	return w
}

func (w *recorder) model(x *llmtest.Exchange) {
	at := func(point string) {
		if kill := w.kill.Load(); kill != nil && (*kill)(point) {
			x.Wait(time.Minute) // until the client is gone
		}
	}
	if isWorker(x) {
		at("summary")
		x.Use("s", "summarize", `{"summary":"They told numbered stories about the garden, the roses and the gate, and how it was painted."}`)
		return
	}
	at("asked")
	last := x.Request.Last()
	if last.Role == llm.RoleUser && strings.Contains(last.Text(), "use memory_save") {
		x.Use("m", "memory_save", `{"content":"The gate is green.","kind":"fact"}`)
		return
	}
	x.Piece("Let us ")
	at("half")
	x.Say("see.")
}

func (w *recorder) line(text string) string {
	id := fmt.Sprintf("%s-%d", filepath.Base(filepath.Dir(w.dir)), len(w.said))
	w.said = append(w.said, id)
	return fmt.Sprintf(`{"text":%q,"id":%q}`, text, id)
}

func (w *recorder) hear(lines []string) {
	for _, line := range parse[struct {
		Type, Text string
		ID         any
		To         []string
	}](w.t, strings.Join(lines, "\n")) {
		switch line.Type {
		case "accepted":
			w.accepted[fmt.Sprint(line.ID)] = true
		case "reply", "error":
			for _, id := range line.To {
				if w.answers[id] == nil {
					w.answers[id] = map[string]bool{}
				}
				w.answers[id][cmp.Or(fmt.Sprint(line.ID), line.Text)+": "+line.Text] = true
			}
		}
	}
}

// killed kills the program at a step, and checks that it did.
func (w *recorder) killed(s step, line string) {
	w.t.Helper()
	dying := w.folder
	if s.server == "" {
		dying.env = append(slices.Clone(w.env), s.death.env(w.t))
	}
	l := dying.start("chat", "--json")
	if s.server != "" {
		kill := func(at string) bool {
			return at == s.server && l.cmd.Process.Kill() == nil
		}
		w.kill.Store(&kill)
		defer w.kill.Store(nil)
	}
	_, _ = io.WriteString(l.in, line+"\n") // a step before the first line may have killed it; killed checks that
	w.hear(l.killed())
}

// goOn sends these lines to a process, and ends it.
func (w *recorder) goOn(lines []string) {
	w.t.Helper()
	w.hear(strings.Split(strings.TrimSpace(w.must(strings.Join(lines, "\n")+"\n", "chat", "--json")), "\n"))
}

// judge checks that every message is stored once, and answered once.
func (w *recorder) judge() {
	w.t.Helper()
	there := map[string]int{}
	for i, m := range messagesOf(w.t, w.must("", "transcript", "--json")) {
		check.Equal(w.t, "the number of a message", m.Seq, int64(i+1))
		there[m.ID]++
	}
	for _, id := range w.said {
		check.Equal(w.t, fmt.Sprintf("copies of %s", id), there[id], 1)
		check.Equal(w.t, fmt.Sprintf("answers to %s", id), len(w.answers[id]), 1)
	}
	check.Len(w.t, "what a strict server rejects", w.server.Refusals(), 0)
}

func (w *recorder) stack() (rows string) {
	return w.ask("coalesce(group_concat(id || ' ' || kind || ' ' || from_seq || '-' || to_seq || ' ' || text, ' / '), '') FROM (SELECT * FROM compactions WHERE state = 'applied' ORDER BY from_seq)")
}

// talk sends stories, each after the previous answer.
func (w *recorder) talk(n int) {
	w.t.Helper()
	l := w.start("chat", "--json")
	for range n {
		l.say(w.line(fmt.Sprintf("Story %d of the garden: %s", len(w.said), strings.Repeat("the roses grew and the gate was painted. ", 6))))
		w.hear(l.until(`"reply"`))
	}
	w.hear(l.end())
}

func (p folder) examined() {
	p.t.Helper()
	data := check.Must(store.Open(p.t.Context(), store.Options{Dir: p.copied(), Shared: true}))(p.t)
	defer data.Close()
	check.Len(p.t, "findings", check.Must(data.Upkeep().Check(context.Background()))(p.t), 0)
}

func (p folder) copied() string {
	p.t.Helper()
	dir := filepath.Join(p.dir, fmt.Sprint("copy", time.Now().UnixNano()))
	check.NoError(p.t, storetest.CopyFolder(dir, filepath.Join(p.dir, "data")))
	err := os.Remove(store.File(dir) + "-shm") // it belongs to the other file
	check.Require(p.t, err == nil || os.IsNotExist(err), "%v", err)
	return dir
}

// ask returns the answers of a copy of the database to these queries, of which each lacks SELECT.
func (p folder) ask(queries ...string) (answers string) {
	p.t.Helper()
	db := database(p.t, p.copied())
	query := "SELECT (SELECT " + strings.Join(queries, ") || ' ' || (SELECT ") + ")"
	check.NoError(p.t, errors.Join(db.QueryRow(query).Scan(&answers), db.Close()))
	return answers
}

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
