package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cairn/internal/check"
)

// step is where the program is killed in a scene, and the expected result.
type step struct {
	name   string
	scene  string
	say    string   // the input, the id left out
	death  killStep // zero: the model's server kills it
	server string   // the request at which it does: "asked", "half", "summary"

	full    bool // other settings, from here on, make the window full
	applied bool // the stack on disk has changed
}

const (
	planned = "INSERT ON main.compactions"
	changes = "UPDATE OF state ON main.compactions"
)

var steps = []step{
	{name: "a message has come and is not in the inbox", death: killStep{On: "INSERT ON main.inbox", At: atRow}},
	{name: "a message is about to be in the inbox", death: killStep{On: "INSERT ON main.inbox", At: atCommit}},
	{name: "a message is in the inbox and not acknowledged", death: killStep{On: "INSERT ON main.inbox", At: after}},
	{name: "a message is being taken up", death: killStep{On: "INSERT ON main.messages", At: atCommit}},
	{name: "the model has been asked", server: "asked"},
	{name: "half of the answer has come", server: "half"},
	{name: "a tool is at work", say: "use memory_save", death: killStep{On: "INSERT ON main.memories", At: atRow}},
	{name: "a tool has done its work", say: "use memory_save", death: killStep{On: "INSERT ON main.memories", At: after}},
	{name: "a reply is being written", death: killStep{On: "INSERT ON main.outbox", At: atRow}},
	{name: "a reply is about to be written", death: killStep{On: "INSERT ON main.outbox", At: atCommit}},
	{name: "a reply is written", death: killStep{On: "INSERT ON main.outbox", At: after}},
	{name: "a reply is about to be sent", death: killStep{On: "UPDATE ON main.outbox", When: "new.state = 'sending'", At: atCommit}},
	{name: "a reply was sent, and that is not noted", death: killStep{On: "UPDATE ON main.outbox", When: "new.state = 'sending'", At: after}},
	{name: "a reply was sent, and that is about to be noted", death: killStep{On: "UPDATE ON main.outbox", When: "new.state = 'sent'", At: atCommit}},

	{name: "a span is planned", scene: "talk", say: "/compact", death: killStep{On: planned, At: atRow}},
	{name: "a span is planned and written", scene: "talk", say: "/compact", server: "summary"},
	{name: "a summary has come", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'prepared'", At: atRow}},
	{name: "a summary is about to be stored", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'prepared'", At: atCommit}},
	{name: "a summary is stored", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'prepared'", At: after}},
	{name: "a summary is being applied", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'applied'", At: atRow}},
	{name: "a summary is about to be applied", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'applied'", At: atCommit}},
	{name: "a summary was applied, and nobody knows", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'applied'", At: after}, applied: true},

	{name: "a rollup is planned", scene: "stack", say: "/compact", death: killStep{On: planned, When: "new.kind = 'rollup'", At: atRow}},
	{name: "a rollup is stored", scene: "stack", say: "/compact", death: killStep{On: changes, When: "new.kind = 'rollup' AND new.state = 'prepared'", At: after}},
	{name: "a rollup is being applied", scene: "stack", say: "/compact", death: killStep{On: changes, When: "new.kind = 'rollup' AND new.state = 'applied'", At: atRow}},
	{name: "a rollup was applied, and nobody knows", scene: "stack", say: "/compact", death: killStep{On: changes, When: "new.kind = 'rollup' AND new.state = 'applied'", At: after}, applied: true},

	{name: "a session is ending", scene: "talk", say: "/new", death: killStep{On: planned, When: "new.kind = 'placeholder'", At: atCommit}},
	{name: "a session has ended", scene: "talk", say: "/new", death: killStep{On: planned, When: "new.kind = 'placeholder'", At: after}, applied: true},
	{name: "a repair is planned", scene: "talk", say: "/new", death: killStep{On: planned, When: "new.trigger = 'repair'", At: after}, applied: true},
	{name: "a repair is stored", scene: "talk", say: "/new", death: killStep{On: changes, When: "new.trigger = 'repair' AND new.state = 'prepared'", At: after}, applied: true},
	{name: "a repair is being applied", scene: "talk", say: "/new", death: killStep{On: changes, When: "new.trigger = 'repair' AND new.state = 'applied'", At: atCommit}, applied: true},
	{name: "a repair was applied, and nobody knows", scene: "talk", say: "/new", death: killStep{On: changes, When: "new.trigger = 'repair' AND new.state = 'applied'", At: after}, applied: true},

	{name: "an emergency is about to hide messages", scene: "talk", full: true, death: killStep{On: planned, When: "new.made_by = 'emergency'", At: atCommit}},
	{name: "an emergency has hidden messages", scene: "talk", full: true, death: killStep{On: planned, When: "new.made_by = 'emergency'", At: after}, applied: true},
}

// TestKillAtEveryStep kills the program with SIGKILL at each step of its work: the folder has the
// state before or after the step, and the next process continues. No accepted message is lost, and
// none is answered twice.
func TestKillAtEveryStep(t *testing.T) {
	check.SkipUnderRace(t)
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

// scenes are folders with conversations, created on first use.
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
	dir = check.Must(os.MkdirTemp("", "cairn-scene-"))(t)
	w := newRecorder(t, folder{t: t, dir: dir})
	switch name {
	case "talk":
		w.talk(16)
	case "stack":
		for range 2 {
			w.talk(8)
			w.goOn([]string{`{"text":"/compact"}`})
		}
		w.talk(8)
	default:
		w.talk(1)
	}
	if s.made == nil {
		s.made = map[string]string{}
	}
	s.made[name] = dir
	return dir
}

func (s step) die(t *testing.T, prepared string) {
	p := newFolder(t)
	check.NoError(t, os.CopyFS(filepath.Join(p.dir, "data"), os.DirFS(filepath.Join(prepared, "data"))))
	var settings []string
	if s.full {
		settings = []string{"background_threshold = 0.30", "aggressive_threshold = 0.32", "emergency_threshold = 0.38"}
	}
	w := newRecorder(t, p, settings...)
	before := w.stack()
	said := cmp.Or(s.say, "What shall we do?")
	line := `{"text":"` + said + `","id":"c1"}`
	if !strings.HasPrefix(said, "/") {
		line = w.line(said)
	}
	w.killed(s, line)

	if applied := before != w.stack(); applied != s.applied {
		t.Errorf("got the stack changed from\n%s\nto\n%s", before, w.stack())
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
		check.Equal(t, "memories", w.count("SELECT count(*) FROM memories"), 1)
	}
	if n := w.count("SELECT count(*) FROM compactions WHERE state IN ('running', 'prepared') OR state = 'applied' AND kind = 'placeholder'"); n > 0 {
		t.Errorf("got %d unfinished compactions", n)
	}
	if s.scene != "" && w.count("SELECT count(*) FROM compactions WHERE state = 'applied'") == 0 {
		t.Error("nothing is summarized")
	}
}
