package compactor_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/transcript"

	"github.com/mattn/go-sqlite3"
)

// life is a rig that may begin on a folder somebody else has left. Nothing is begun
// by itself but where a test lets it: so an act makes one change, and no repair follows it.
type life struct {
	*rig
	free atomic.Bool
}

// forks keeps a process from being started while a folder is given up: until it runs
// its own program it has this one's files, and with them the folder's lock.
var forks sync.RWMutex

func (l *life) close() {
	forks.RLock()
	defer forks.RUnlock()
	l.rig.close()
}

func (l *life) restart() {
	l.t.Helper()
	l.close()
	l.open()
}

// act is something a conversation does, in steps: each changes the view once, in
// one transaction, or not at all.
type act struct {
	name    string // of the conversation; empty: terminal:test
	tune    func(p *compactor.Policy)
	window  int // of the steps; 0: spacious, as before them
	words   int // of a summary; 0: 100
	before  func(l *life)
	steps   []func(l *life)
	changes int            // how many of the steps change the view
	between string         // stands in the view while a step is half done; empty: there is no such view
	kind    compactor.Kind // of a row that stands in the stack at the end; empty: any
}

const (
	spacious     = 100_000
	channelAbove = "terminal:server/channel"
)

func notes(n, size int) func(l *life) {
	return func(l *life) {
		for range n {
			l.hear(fmt.Sprintf("note %d %s", len(l.said), filler(size)))
		}
	}
}

// summedUp is after some notes were summarized.
func summedUp(l *life) {
	notes(12, 60)(l)
	compact(l)
}

func compact(l *life) {
	l.free.Store(true)
	l.c.Compact(compactor.OnManual, "")
	l.settle()
	l.free.Store(false)
}

func settles(l *life) { l.settle() }

// repairs does all that is due.
func repairs(l *life) {
	l.free.Store(true)
	l.restart() // what was refused is asked about again
	l.settle()
	l.free.Store(false)
}

func hides(l *life, from, to int64) { must(l.t, hide(l.conv, from, to)) }

var acts = map[string]act{
	"taking up, and a turn's outcome": {
		before: notes(3, 20),
		steps: []func(*life){
			func(l *life) { l.deliver("question 3 what is it?", true) },
			func(l *life) { l.answer(l.said[len(l.said)-1], "one result", "another one") },
		},
		changes: 2,
	},
	"a summary with its memories": {before: notes(12, 60), steps: []func(*life){compact}, changes: 1, kind: compactor.Leaf},
	"a summary and the fold that makes room for it": {
		tune:  func(p *compactor.Policy) { p.StackBudget = 0.02 },
		words: 600,
		before: func(l *life) {
			for range 3 {
				notes(10, 400)(l)
				compact(l)
			}
			notes(10, 400)(l)
		},
		steps: []func(*life){compact}, changes: 1, kind: compactor.Rollup,
	},
	"a summary that splits the marker over it": {
		before: func(l *life) {
			notes(12, 60)(l)
			j, err := l.conv.Compactions().Begin(context.Background(), compactor.Compaction{Kind: compactor.Leaf, By: compactor.ByWorker, Trigger: compactor.OnBackground, Span: compactor.Span{From: 4, To: 6}, Messages: 3})
			if err == nil {
				_, err = j.Store(context.Background(), summarize.Summary{Text: "Four to six.", Tokens: 20})
			}
			must(l.t, err)
			hides(l, 1, 9)
		},
		steps: []func(*life){settles}, changes: 1, kind: compactor.Leaf,
	},
	"a heal": {
		before: func(l *life) { notes(12, 60)(l); hides(l, 2, 7) }, steps: []func(*life){repairs}, changes: 1, kind: compactor.Leaf,
		between: "messages #2 to #7, 1 January 2026\n1 January 2026:\n", // of the extractive summarizer
	},
	"an emergency": {window: 1500, before: notes(12, 120), steps: []func(*life){settles}, changes: 1, kind: compactor.Placeholder},
	"a new segment": {
		before:  func(l *life) { summedUp(l); notes(3, 20)(l) },
		steps:   []func(*life){func(l *life) { l.startSession(); l.settle() }},
		changes: 1,
	},
	"an undo": {
		before: summedUp,
		steps: []func(*life){func(l *life) {
			if _, err := l.c.Undo(context.Background()); err != nil {
				l.t.Fatal(err)
			}
			settles(l)
		}},
		changes: 1,
	},
	"a pin": {before: summedUp, steps: []func(*life){pin}, changes: 1},
	"an edit, and what it makes be done anew": {
		before: func(l *life) { summedUp(l); pin(l) },
		steps: []func(*life){func(l *life) {
			m := l.said[1]
			m.Text = "edited 1 it is otherwise"
			if _, _, err := l.conv.Transcript().Edit(context.Background(), memory.Inbound{ID: m.ID, Text: m.Text, Time: m.Time.Add(time.Hour)}); err != nil {
				l.t.Fatal(err)
			}
			l.said[1].Text = m.Text
			l.apply(2)
			settles(l)
		}, repairs},
		changes: 1, // until it is repaired the summary keeps its words
	},
	"a deletion, and what it makes be done anew": {
		before: func(l *life) { summedUp(l); pin(l) },
		steps: []func(*life){func(l *life) {
			if _, err := l.conv.Transcript().Delete(context.Background(), []string{"m2"}); err != nil {
				l.t.Fatal(err)
			}
			l.gone = map[int64]bool{2: true}
			l.apply(2)
			settles(l)
		}, repairs},
		changes: 2,
		between: "Ada: note 0", // the extractive summarizer fills the placeholder before the worker repairs it
	},
	"a thread that inherits": {
		name: channelAbove + "/m5",
		before: func(l *life) {
			l.close()
			thread := l.name
			l.name = channelAbove
			l.open()
			summedUp(l)
			l.close()
			l.name, l.said = thread, nil
			l.open()
		},
		steps:   []func(*life){func(l *life) { l.deliver("note 0 what do you think?", false) }},
		changes: 1,
	},
}

func pin(l *life) {
	if _, err := l.conv.Transcript().Pin(context.Background(), 2, "Ada"); err != nil {
		l.t.Fatal(err)
	}
	l.c.Reread()
	l.c.Check(context.Background())
}

// begin opens the folder as a bot that starts does. What was said it reads from there.
func (a act) begin(t *testing.T, dir string, window int) *life {
	l := &life{rig: &rig{t: t, dir: dir, name: a.name, window: window, policy: compactor.DefaultPolicy()}}
	l.policy.PrepareThreshold = 0
	if a.tune != nil {
		a.tune(&l.policy)
	}
	l.worker = &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return remembers(req, cmp.Or(a.words, 100)), nil
	}}
	l.tune = func(o *compactor.Options) {
		o.Before = func(context.Context, compactor.Proposal) (string, error) {
			if !l.free.Load() {
				return "", errors.New("not now")
			}
			return "", nil
		}
	}
	l.open()
	page, err := l.conv.Transcript().Page(context.Background(), 1, 1<<20)
	must(t, err)
	state, err := l.conv.Compactions().Load(context.Background())
	must(t, err)
	l.said, l.gone = make([]chat.Message, state.Next-1), make(map[int64]bool)
	for i := range l.said {
		l.said[i] = chat.Message{Seq: int64(i + 1), ID: fmt.Sprint("m", i+1)}
		l.gone[int64(i+1)] = true
	}
	for _, m := range page {
		if m.Seq >= state.Next {
			t.Fatalf("message %d stands there, and the next one would be %d", m.Seq, state.Next)
		}
		l.said[m.Seq-1] = m
		delete(l.gone, m.Seq)
	}
	for _, s := range state.Head.Earlier {
		l.ends = append(l.ends, s.To)
	}
	return l
}

// remembers is a worker that saves one memory, then summarizes, in words that follow
// from the span alone.
func remembers(req llm.Request, words int) llm.Response {
	span := spanOf(req)
	saves := slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "memory_save" })
	var from, to int
	if _, err := fmt.Sscanf(span, "messages #%d to #%d", &from, &to); err == nil && saves && len(req.Messages) == 2 {
		return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": fmt.Sprintf("Ada spoke of %d to %d.", from, to), "kind": "fact", "messages": []int{to}}))
	}
	return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": fmt.Sprintf("Of %s. %s", span, filler(words))}))
}

// onlooker has records that nobody writes to: what is prepared stays so.
type onlooker struct{ memory.Compactions }

var errOnlooker = errors.New("it only looks")

func (onlooker) Begin(context.Context, compactor.Compaction) (compactor.Job, error) {
	return nil, errOnlooker
}

func (onlooker) Commit(context.Context, *transcript.State, transcript.Change) (compactor.Head, error) {
	return compactor.Head{}, errOnlooker
}

// glance is what stands on disk for people: the view, and what was said.
func (a act) glance(t *testing.T, dir string) string {
	ctx := context.Background()
	store, err := memory.Open(ctx, memory.Options{Dir: dir, Shared: true}) // changes nothing
	must(t, err)
	defer store.Close()
	name := a.name
	if name == "" {
		name = "terminal:test"
	}
	conv, err := store.Find(ctx, name)
	must(t, err)
	p := compactor.DefaultPolicy()
	p.PrepareThreshold = 0
	if a.tune != nil {
		a.tune(&p)
	}
	c := openOwner(t, compactor.Options{
		Records: onlooker{conv.Compactions()}, Policy: func() compactor.Policy { return p }, Window: func() int { return spacious },
		System: "You are a test.", Log: slog.New(slog.DiscardHandler),
	})
	defer c.Close()
	messages, _, err := c.Request(ctx)
	must(t, err)
	page, err := conv.Transcript().Page(ctx, 1, 1<<20)
	must(t, err)
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s|%s|%v|%s\n", m.Role, m.CallID, m.Calls, m.Text)
	}
	for _, m := range page {
		fmt.Fprintf(&b, "%d|%d|%s|%s\n", m.Seq, m.Turn, m.Role, m.Text)
	}
	return b.String()
}

// strokes counts what the writing connections of this process are about to do: each
// transaction, each statement that writes and each commit. What stands between two of
// them only reads, and leaves the disk as it is. The process dies at number at; 0: it does not.
type strokes struct {
	armed atomic.Bool
	n     atomic.Int64
	at    int64
}

func (s *strokes) next() {
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

func (s *strokes) watch() error {
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

// story is what a child tells of an act that nobody killed.
type story struct {
	Strokes  int64
	Glances  []string // before the first step, and after each
	Memories []string
	Kinds    []compactor.Kind // of the stack at the end
}

const (
	killAct, killAt, killDir = "CAIRN_TEST_KILL_ACT", "CAIRN_TEST_KILL_AT", "CAIRN_TEST_KILL_DIR"
)

// perform is the child: it makes the act on the folder, tells which step it begins,
// and dies where it was told to.
func perform(t *testing.T) {
	a := acts[os.Getenv(killAct)]
	at, err := strconv.ParseInt(os.Getenv(killAt), 10, 64)
	must(t, err)
	s := &strokes{at: at}
	must(t, s.watch())
	dir := os.Getenv(killDir)
	var told story
	l := a.begin(t, dir, cmp.Or(a.window, spacious))
	if at == 0 {
		told.Glances = append(told.Glances, a.glance(t, dir))
	}
	for i, step := range a.steps {
		fmt.Printf("step %d\n", i)
		s.armed.Store(true)
		step(l)
		s.armed.Store(false)
		if at == 0 {
			told.Glances = append(told.Glances, a.glance(t, dir))
		}
	}
	s.armed.Store(true)
	s.next() // after the last one
	s.armed.Store(false)
	told.Strokes, told.Memories = s.n.Load(), remembered(t, dir)
	for _, row := range l.c.Gauge().Stack {
		told.Kinds = append(told.Kinds, row.Kind)
	}
	l.close()
	text, err := json.Marshal(told)
	must(t, err)
	fmt.Printf("%s\n", text)
}

// child makes an act on a copy of the folder in a process of its own.
func child(t *testing.T, name, prepared, dir string, at int64) (out []byte, err error) {
	must(t, os.CopyFS(dir, os.DirFS(prepared)))
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

// TestKillAtEveryStatement has processes of their own work on real files, and die by
// SIGKILL before each statement that writes and in each commit: what is found is what
// was before or what was to be, byte for byte, and the conversation goes on from there.
func TestKillAtEveryStatement(t *testing.T) {
	if os.Getenv(killAct) != "" {
		perform(t)
		return
	}
	if testing.Short() {
		t.Skip("it kills some hundred processes")
	}
	skipUnderRace(t)
	t.Parallel()
	var kills atomic.Int64
	started := time.Now()
	t.Run("acts", func(t *testing.T) {
		for name, a := range acts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				kills.Add(a.survives(t, name))
			})
		}
	})
	t.Logf("%d kills were survived in %v", kills.Load(), time.Since(started).Round(time.Second))
}

// survives kills an act everywhere, and returns how many kills that took.
func (a act) survives(t *testing.T, name string) (kills int64) {
	base := folder(t)
	prepared := filepath.Join(base, "prepared")
	l := a.begin(t, prepared, spacious)
	a.before(l)
	l.close()
	out, err := child(t, name, prepared, filepath.Join(base, "whole"), 0)
	if err != nil {
		t.Fatalf("the act itself: %v\n%s", err, out)
	}
	var whole story
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("{")) {
			must(t, json.Unmarshal(line, &whole))
		}
	}
	changes := 0
	for i := 1; i < len(whole.Glances); i++ {
		if whole.Glances[i] != whole.Glances[i-1] {
			changes++
		}
	}
	if changes != a.changes || a.kind != "" && !slices.Contains(whole.Kinds, a.kind) {
		t.Fatalf("the act changed the view %d times, not %d; the stack has %v", changes, a.changes, whole.Kinds)
	}
	for at := int64(1); at <= whole.Strokes; at++ {
		dir := filepath.Join(base, fmt.Sprint(at))
		out, err := child(t, name, prepared, dir, at)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("at %d of %d it was not killed: %v\n%s", at, whole.Strokes, err, out)
		}
		if err := a.found(t, dir, bytes.Count(out, []byte("step "))-1, whole); err != nil {
			t.Fatalf("killed at %d of %d: %v", at, whole.Strokes, err)
		}
		kills++
		must(t, os.RemoveAll(dir))
	}
	return kills
}

// found holds what a process left that died in a step to what may be there, and
// goes on with it to the end.
func (a act) found(t *testing.T, dir string, step int, whole story) error {
	if err := sound(t, dir); err != nil {
		return err
	}
	is, was, becomes := a.glance(t, dir), whole.Glances[step], whole.Glances[step+1]
	if is != was && is != becomes && (a.between == "" || !strings.Contains(is, a.between)) {
		return fmt.Errorf("the view is\n%s\n--- was\n%s\n--- and was to be\n%s", is, was, becomes)
	}
	l := a.begin(t, dir, cmp.Or(a.window, spacious))
	defer l.close()
	if n := count(t, dir, "SELECT count(*) FROM compactions WHERE state = 'running'"); n > 0 {
		return fmt.Errorf("%d rows are still running", n)
	}
	if err := l.check(); err != nil {
		return err
	}
	if is == becomes && is != was {
		step++
	}
	for _, do := range a.steps[step:] {
		do(l)
	}
	if err := l.check(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if is, want := a.glance(t, dir), whole.Glances[len(whole.Glances)-1]; is != want {
		return fmt.Errorf("at the end the view is\n%s\n--- should be\n%s", is, want)
	}
	if is := remembered(t, dir); !slices.Equal(is, whole.Memories) {
		return fmt.Errorf("remembered are %q, should be %q", is, whole.Memories)
	}
	l.window = spacious
	notes(2, 20)(l)
	repairs(l)
	g := l.c.Gauge()
	if len(g.Prepared) > 0 || slices.ContainsFunc(slices.Concat(rowsOf(g.Past.Earlier), g.Stack), compactor.Compaction.NeedsRepair) {
		return fmt.Errorf("after all work was done %d rows are prepared; the stack is %+v, behind %+v", len(g.Prepared), g.Stack, g.Past.Earlier)
	}
	return l.check()
}

// sound looks at the file itself.
func sound(t *testing.T, dir string) error {
	db := raw(t, dir)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("the file: %s, %v", verdict, err)
	}
	for what, query := range map[string]string{
		"references to nothing":          "SELECT count(*) FROM pragma_foreign_key_check",
		"memories of unfinished work":    "SELECT count(*) FROM memories m JOIN compactions c ON c.id = m.compaction WHERE c.ended_at IS NULL OR c.state = 'failed'",
		"memories that are there twice":  "SELECT count(*) - count(DISTINCT content) FROM memories",
		"staged rows without their text": "SELECT count(*) FROM compactions WHERE state = 'prepared' AND text = ''",
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n > 0 {
			return fmt.Errorf("%d %s, %v", n, what, err)
		}
	}
	return nil
}

func raw(t *testing.T, dir string) *sql.DB {
	db, err := sql.Open("sqlite3", filepath.Join(dir, "cairn.db"))
	must(t, err)
	return db
}

func count(t *testing.T, dir, query string) (n int) {
	db := raw(t, dir)
	defer db.Close()
	must(t, db.QueryRow(query).Scan(&n))
	return n
}

// remembered are the memories on disk, in no order of time.
func remembered(t *testing.T, dir string) (found []string) {
	db := raw(t, dir)
	defer db.Close()
	rows, err := db.Query("SELECT content || ', ' || state FROM memories ORDER BY 1")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var one string
		must(t, rows.Scan(&one))
		found = append(found, one)
	}
	must(t, rows.Err())
	return found
}
