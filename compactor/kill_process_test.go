// What a killed process does: acts of a conversation.

package compactor_test

import (
	"bufio"
	"cmp"
	"context"
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

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"

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

// runAndKill performs an act on a copy of the folder in a child. At its nth number it copies the child's folder to base/n:
// since nothing writes then, these are the files that a kill leaves. At the last one it kills the child, and compares. It
// returns in which step each copy was made. Most statements leave the same files as the one before, since a transaction is
// written at its commit: those have no copy of their own.
func runAndKill(t *testing.T, name, prepared, base string) (told childReport, steps []int) {
	dir := filepath.Join(base, "live")
	check.NoError(t, os.CopyFS(dir, os.DirFS(prepared)))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillAtEveryStatement$")
	cmd.Env = append(os.Environ(), killAct+"="+name, killDir+"="+dir)
	in := check.Must(cmd.StdinPipe())(t)
	out := check.Must(cmd.StdoutPipe())(t)
	check.NoError(t, cmd.Start())
	step := -1
	said := ""
	last := ""
	lines := bufio.NewReader(out)
	for told.Strokes == 0 || int64(len(steps)) < told.Strokes {
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

// act is an operation of a conversation in steps: each changes the view in one transaction, or not at all.
type act struct {
	name    string  // of the conversation; empty: terminal:test
	stack   float64 // the stack's budget; 0: the default
	window  int     // of the steps; 0: spacious, as before them
	words   int     // of a summary; 0: 100
	before  func(l *killRig)
	steps   []func(l *killRig)
	changes int            // how many of the steps change the view; 0: one
	between string         // in the view during a step; empty: no such view
	kind    compactor.Kind // of a row in the final stack; empty: any
}

const (
	spacious     = 100_000
	channelAbove = "terminal:server/channel"
)

func addNotes(n, size int) func(l *killRig) {
	return func(l *killRig) {
		for range n {
			l.deliverNotes(fmt.Sprintf("note %d %s", len(l.messages), filler(size)))
		}
	}
}

// summedUp is a conversation in which some notes were summarized.
func summedUp(l *killRig) {
	addNotes(12, 60)(l)
	compact(l)
}

func compact(l *killRig) {
	l.free.Store(true)
	l.c.Compact(compactor.OnManual, "")
	l.waitIdle()
	l.free.Store(false)
}

func runRepairs(l *killRig) {
	l.free.Store(true)
	l.restart() // rejected work is retried
	l.waitIdle()
	l.free.Store(false)
}

var acts = map[string]act{
	"taking up, and a turn's outcome": {
		before: addNotes(3, 20),
		steps: []func(*killRig){
			func(l *killRig) { l.deliver("question 3 what is it?", true) },
			func(l *killRig) { l.answer(l.messages[len(l.messages)-1], "one result", "another one") },
		},
		changes: 2,
	},
	"a summary with its memories": {before: addNotes(12, 60), steps: []func(*killRig){compact}, kind: compactor.Leaf},
	"a summary and the fold that makes room for it": {
		stack: 0.02,
		words: 600,
		before: func(l *killRig) {
			for range 3 {
				addNotes(10, 400)(l)
				compact(l)
			}
			addNotes(10, 400)(l)
		},
		steps: []func(*killRig){compact}, kind: compactor.Rollup,
	},
	"a summary that splits the marker over it": {
		before: func(l *killRig) {
			addNotes(12, 60)(l)
			row := compactor.Summary{Kind: compactor.Leaf, By: compactor.ByWorker, Trigger: compactor.OnBackground, Span: compactor.Span{From: 4, To: 6}, Messages: 3}
			j := check.Must(memory.Of(l.conv).Records().Begin(context.Background(), row))(l.t)
			check.NoError(l.t, check.ErrorOf(j.Store(context.Background(), summarize.Summary{Text: "Four to six.", Tokens: 20})))
			storetest.Hide(l.t, l.conv, 1, 9)
		},
		steps: []func(*killRig){(*killRig).waitIdle}, kind: compactor.Leaf,
	},
	"a heal": {
		before: func(l *killRig) { addNotes(12, 60)(l); storetest.Hide(l.t, l.conv, 1, 7) }, steps: []func(*killRig){runRepairs}, kind: compactor.Leaf,
		between: "messages #1 to #7, 1 January 2026\n1 January 2026:\n", // of the extractive summarizer
	},
	"an emergency": {window: 1500, before: addNotes(12, 120), steps: []func(*killRig){(*killRig).waitIdle}, kind: compactor.Placeholder},
	"a new segment": {
		before: func(l *killRig) { summedUp(l); addNotes(3, 20)(l) },
		steps:  []func(*killRig){func(l *killRig) { l.startSession(); l.waitIdle() }},
	},
	"an undo": {
		before: summedUp,
		steps: []func(*killRig){func(l *killRig) {
			check.NoError(l.t, check.ErrorOf(l.c.Undo(context.Background())))
			l.waitIdle()
		}},
	},
	"a pin": {before: summedUp, steps: []func(*killRig){pin}},
	"an edit, and what it makes be done anew": {
		before: func(l *killRig) { summedUp(l); pin(l) },
		steps: []func(*killRig){func(l *killRig) {
			l.edit(2, "edited 1 it is otherwise") // until it is repaired the summary keeps its words
			l.waitIdle()
		}, runRepairs},
		changes: 2, // the edit shows in the pin, and the new summary's line no longer rests on message 2
	},
	"a deletion, and what it makes be done anew": {
		before: func(l *killRig) { summedUp(l); pin(l) },
		steps: []func(*killRig){func(l *killRig) {
			check.NoError(l.t, check.ErrorOf(l.removeWithoutNotice(2)))
			l.c.Reread()
			l.waitIdle()
		}, runRepairs},
		changes: 2,
		between: "Ada: note 0", // the extractive summarizer fills the placeholder before the worker repairs it
	},
	"a thread that inherits": {
		name: channelAbove + "/m5",
		before: func(l *killRig) {
			l.close()
			thread := l.name
			l.name = channelAbove
			l.open()
			summedUp(l)
			l.close()
			l.name = thread
			l.messages = nil
			l.open()
		},
		steps: []func(*killRig){func(l *killRig) { l.deliver("note 0 what do you think?", false) }},
	},
}

func pin(l *killRig) {
	check.NoError(l.t, check.ErrorOf(l.conv.Transcript().Pin(context.Background(), 2, store.Person{Name: "Ada"})))
	l.c.Reread()
	l.c.Check(context.Background())
}
