package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// step is where the program dies in a scene, and what is to be found then.
type step struct {
	name   string
	scene  string
	say    string // what it is told, the id left out
	death  death  // zero: the model's server kills it
	server string // the request at which it does: "asked", "half", "summary"

	full   bool // the window is full by other settings, which hold from here on
	landed bool // the stack on disk is another one than before
}

const (
	planned = "INSERT ON main.compactions"
	changes = "UPDATE OF state ON main.compactions"
)

var steps = []step{
	{name: "a message has come and is not in the inbox", death: death{On: "INSERT ON main.inbox", At: atRow}},
	{name: "a message is about to be in the inbox", death: death{On: "INSERT ON main.inbox", At: atCommit}},
	{name: "a message is in the inbox and not acknowledged", death: death{On: "INSERT ON main.inbox", At: after}},
	{name: "a message is being taken up", death: death{On: "INSERT ON main.messages", At: atCommit}},
	{name: "the model has been asked", server: "asked"},
	{name: "half of the answer has come", server: "half"},
	{name: "a tool is at work", say: "use memory_save", death: death{On: "INSERT ON main.memories", At: atRow}},
	{name: "a tool has done its work", say: "use memory_save", death: death{On: "INSERT ON main.memories", At: after}},
	{name: "a reply is being written", death: death{On: "INSERT ON main.outbox", At: atRow}},
	{name: "a reply is about to be written", death: death{On: "INSERT ON main.outbox", At: atCommit}},
	{name: "a reply is written", death: death{On: "INSERT ON main.outbox", At: after}},
	{name: "a reply is about to be sent", death: death{On: "UPDATE ON main.outbox", When: "new.state = 'sending'", At: atCommit}},
	{name: "a reply was sent, and that is not noted", death: death{On: "UPDATE ON main.outbox", When: "new.state = 'sending'", At: after}},
	{name: "a reply was sent, and that is about to be noted", death: death{On: "UPDATE ON main.outbox", When: "new.state = 'sent'", At: atCommit}},

	{name: "a span is planned", scene: "talk", say: "/compact", death: death{On: planned, At: atRow}},
	{name: "a span is planned and written", scene: "talk", say: "/compact", server: "summary"},
	{name: "a summary has come", scene: "talk", say: "/compact", death: death{On: changes, When: "new.state = 'staged'", At: atRow}},
	{name: "a summary is about to be stored", scene: "talk", say: "/compact", death: death{On: changes, When: "new.state = 'staged'", At: atCommit}},
	{name: "a summary is stored", scene: "talk", say: "/compact", death: death{On: changes, When: "new.state = 'staged'", At: after}},
	{name: "a summary is landing", scene: "talk", say: "/compact", death: death{On: changes, When: "new.state = 'active'", At: atRow}},
	{name: "a summary is about to land", scene: "talk", say: "/compact", death: death{On: changes, When: "new.state = 'active'", At: atCommit}},
	{name: "a summary has landed, and nobody knows", scene: "talk", say: "/compact", death: death{On: changes, When: "new.state = 'active'", At: after}, landed: true},

	{name: "a rollup is planned", scene: "stack", say: "/compact", death: death{On: planned, When: "new.kind = 'rollup'", At: atRow}},
	{name: "a rollup is stored", scene: "stack", say: "/compact", death: death{On: changes, When: "new.kind = 'rollup' AND new.state = 'staged'", At: after}},
	{name: "a rollup is landing", scene: "stack", say: "/compact", death: death{On: changes, When: "new.kind = 'rollup' AND new.state = 'active'", At: atRow}},
	{name: "a rollup has landed, and nobody knows", scene: "stack", say: "/compact", death: death{On: changes, When: "new.kind = 'rollup' AND new.state = 'active'", At: after}, landed: true},

	{name: "a segment is ending", scene: "talk", say: "/new", death: death{On: planned, When: "new.kind = 'marker'", At: atCommit}},
	{name: "a segment has ended", scene: "talk", say: "/new", death: death{On: planned, When: "new.kind = 'marker'", At: after}, landed: true},
	{name: "a heal is planned", scene: "talk", say: "/new", death: death{On: planned, When: "new.trigger = 'heal'", At: after}, landed: true},
	{name: "a heal is stored", scene: "talk", say: "/new", death: death{On: changes, When: "new.trigger = 'heal' AND new.state = 'staged'", At: after}, landed: true},
	{name: "a heal is landing", scene: "talk", say: "/new", death: death{On: changes, When: "new.trigger = 'heal' AND new.state = 'active'", At: atCommit}, landed: true},
	{name: "a heal has landed, and nobody knows", scene: "talk", say: "/new", death: death{On: changes, When: "new.trigger = 'heal' AND new.state = 'active'", At: after}, landed: true},

	{name: "an emergency is about to hide messages", scene: "talk", full: true, death: death{On: planned, When: "new.made_by = 'emergency'", At: atCommit}},
	{name: "an emergency has hidden messages", scene: "talk", full: true, death: death{On: planned, When: "new.made_by = 'emergency'", At: after}, landed: true},
}

// TestKillAtEveryStep has the program die by SIGKILL at each step of its work: what is
// found is what was before or what was to be, and the next process goes on from there.
// Nothing accepted is lost, and nobody is answered twice.
func TestKillAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills some dozens of processes")
	}
	var prepared scenes
	defer prepared.remove()
	t.Run("steps", func(t *testing.T) {
		for _, s := range steps {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.die(t, prepared.of(t, s.scene))
			})
		}
	})
}

// scenes are folders in which something was said, made when they are first wanted.
type scenes struct {
	mu   sync.Mutex // guards made
	made map[string]string
}

func (s *scenes) remove() {
	for _, dir := range s.made {
		_ = os.RemoveAll(dir)
	}
}

func (s *scenes) of(t *testing.T, name string) (dir string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[name] != "" {
		return s.made[name]
	}
	dir, err := os.MkdirTemp("", "cairn-scene-")
	if err != nil {
		t.Fatal(err)
	}
	w := newWitness(t, folder{t: t, dir: dir})
	var lines []string
	tell := func(n int) {
		for range n {
			lines = append(lines, w.line(fmt.Sprintf("Story %d of the garden: %s", len(w.said), strings.Repeat("the roses grew and the gate was painted. ", 6))))
		}
	}
	lines = append(lines, w.line("hello"))
	switch name {
	case "talk":
		tell(16)
	case "stack":
		for range 2 {
			tell(9)
			lines = append(lines, `{"text":"/compact"}`)
		}
		tell(9)
	}
	w.goOn(lines)
	if s.made == nil {
		s.made = map[string]string{}
	}
	s.made[name] = dir
	return dir
}

func (s step) die(t *testing.T, prepared string) {
	p := newFolder(t)
	if err := os.CopyFS(filepath.Join(p.dir, "data"), os.DirFS(filepath.Join(prepared, "data"))); err != nil {
		t.Fatal(err)
	}
	var settings []string
	if s.full {
		settings = []string{"background_threshold = 0.30", "aggressive_threshold = 0.32", "emergency_threshold = 0.38"}
	}
	w := newWitness(t, p, settings...)
	before := w.stack()
	said := cmp.Or(s.say, "What shall we do?")
	line := `{"text":"` + said + `","id":"c1"}`
	if !strings.HasPrefix(said, "/") {
		line = w.line(said)
	}
	w.killed(s, line)

	if landed := before != w.stack(); landed != s.landed {
		t.Errorf("the stack was\n%s\nand is\n%s", before, w.stack())
	}
	w.examined()
	again := []string{w.line("And then?")}
	switch {
	case strings.HasPrefix(said, "/"):
		again = append(again, `{"text":"/compact"}`)
	case !w.accepted[w.said[0]]:
		again = append([]string{line}, again...)
	}
	w.goOn(again)
	w.examined()
	w.judge()
	if said == "use memory_save" {
		if n := w.count("SELECT count(*) FROM memories"); n != 1 {
			t.Errorf("%d memories were saved", n)
		}
	}
	if n := w.count("SELECT count(*) FROM compactions WHERE state IN ('running', 'staged') OR state = 'active' AND kind = 'marker'"); n > 0 {
		t.Errorf("%d compactions are unfinished", n)
	}
	if s.scene != "" && w.count("SELECT count(*) FROM compactions WHERE state = 'active'") == 0 {
		t.Error("nothing is summed up")
	}
}

// witness talks to the program in a folder, and remembers what it said.
type witness struct {
	folder
	server *llmtest.Server
	kill   atomic.Pointer[func(at string) bool] // asked by the model's server at each point of its work

	said     []string // ids of messages
	accepted map[string]bool
	answers  map[string]map[string]bool // ids of replies, by the message they answer
}

func newWitness(t *testing.T, p folder, settings ...string) *witness {
	w := &witness{folder: p, accepted: map[string]bool{}, answers: map[string]map[string]bool{}}
	w.server = llmtest.NewServer(w.model)
	t.Cleanup(w.server.Close)
	settingsFor(p, w.server, append([]string{"[agents.compaction]", "prepare_threshold = 0", "stack_budget = 0.02", "rollup_fan_in = 3"}, settings...)...)
	return w
}

// model answers, calls a tool if it is asked to, and sums up.
func (w *witness) model(x *llmtest.Exchange) {
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

// line is something said under an id of its own.
func (w *witness) line(text string) string {
	id := fmt.Sprintf("%s-%d", filepath.Base(w.dir), len(w.said))
	w.said = append(w.said, id)
	return fmt.Sprintf(`{"text":%q,"id":%q}`, text, id)
}

// hear notes what the program said.
func (w *witness) hear(lines []string) {
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

// killed has the program die at a step, and proves that it did.
func (w *witness) killed(s step, line string) {
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
	l.say(line)
	_ = l.in.Close() // what does not die comes to its end
	lines, _ := l.rest()
	if status := l.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		w.t.Fatalf("it did not come to that: %v; it said %q", l.cmd.ProcessState, lines)
	}
	w.hear(lines)
}

// goOn has a process hear these lines, and end.
func (w *witness) goOn(lines []string) {
	w.t.Helper()
	w.hear(strings.Split(strings.TrimSpace(w.must(strings.Join(lines, "\n")+"\n", "chat", "--json")), "\n"))
}

// judge wants everything that was said to be there once, and answered once.
func (w *witness) judge() {
	w.t.Helper()
	there := map[string]int{}
	for i, m := range messagesOf(w.t, w.must("", "transcript", "--json")) {
		if m.Seq != int64(i+1) {
			w.t.Errorf("message %d follows %d", m.Seq, i)
		}
		there[m.ID]++
	}
	for _, id := range w.said {
		if there[id] != 1 || len(w.answers[id]) != 1 {
			w.t.Errorf("%s stands there %d times, and was answered by %v", id, there[id], w.answers[id])
		}
	}
	if refused := w.server.Refusals(); len(refused) > 0 {
		w.t.Errorf("a strict server refuses: %q", refused)
	}
}

// examined looks at a copy of the files: the next process shall find them as they were left.
func (w *witness) examined() {
	w.t.Helper()
	dir := w.copied()
	if _, err := memory.Inspect(w.t.Context(), memory.File(dir)); err != nil {
		w.t.Error(err)
	}
	store, err := memory.Open(w.t.Context(), memory.Options{Dir: dir, Shared: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	found, err := store.Examine(context.Background(), false)
	if err != nil || len(found) > 0 {
		w.t.Errorf("found %v, %v", found, err)
	}
}

// copied is a copy of the database, log and all.
func (w *witness) copied() string {
	w.t.Helper()
	dir := filepath.Join(w.dir, fmt.Sprint("copy", time.Now().UnixNano()))
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(w.dir, "data"))); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Remove(memory.File(dir) + "-shm"); err != nil && !os.IsNotExist(err) { // it belongs to the other file
		w.t.Fatal(err)
	}
	return dir
}

// stack is what of the past is shown as summaries.
func (w *witness) stack() (rows string) {
	w.ask("SELECT coalesce(group_concat(id || ' ' || kind || ' ' || from_seq || '-' || to_seq || ' ' || text, ' / '), '') FROM (SELECT * FROM compactions WHERE state = 'active' ORDER BY from_seq)", &rows)
	return rows
}

func (w *witness) count(query string) (n int) {
	w.ask(query, &n)
	return n
}

func (w *witness) ask(query string, into any) {
	w.t.Helper()
	db, err := sql.Open("sqlite3", memory.File(w.copied()))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(into); err != nil {
		w.t.Fatal(err)
	}
}
