package compactor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/transcript"
)

// killRig is a rig that can open a folder left by another process. Work starts only when a test
// allows it: so an act makes one change, and no repair follows.
type killRig struct {
	*rig
	free atomic.Bool
}

// forks prevents starting a process while a folder is being released: until the process executes
// its own program it holds this one's files, and with them the folder's lock.
var forks sync.RWMutex

func (l *killRig) close() {
	forks.RLock()
	defer forks.RUnlock()
	l.rig.close()
}

func (l *killRig) restart() {
	l.t.Helper()
	l.close()
	l.open()
}

// open opens the folder like a bot at its start, and reads the messages from it.
func (a act) open(t *testing.T, dir string, window int) *killRig {
	l := &killRig{rig: &rig{t: t, dir: dir, name: a.name, window: window, policy: compactor.DefaultPolicy()}}
	l.policy.PrepareThreshold = 0
	if a.tune != nil {
		a.tune(&l.policy)
	}
	l.worker = &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return saveMemories(req, cmp.Or(a.words, 100)), nil
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
	check.NoError(t, err)
	state, err := l.conv.Compactions().Load(context.Background())
	check.NoError(t, err)
	l.said, l.gone = make([]chat.Message, state.Next-1), make(map[int64]bool)
	for i := range l.said {
		l.said[i] = chat.Message{Seq: int64(i + 1), ID: fmt.Sprint("m", i+1)}
		l.gone[int64(i+1)] = true
	}
	for _, m := range page {
		check.Require(t, m.Seq < state.Next, "got message %d, but the next seq is %d", m.Seq, state.Next)
		l.said[m.Seq-1] = m
		delete(l.gone, m.Seq)
	}
	for _, s := range state.Head.Earlier {
		l.ends = append(l.ends, s.To)
	}
	return l
}

// readOnlyRecords are records without writes: prepared rows stay prepared.
type readOnlyRecords struct{ memory.Records }

var errOnlooker = errors.New("it only looks")

func (readOnlyRecords) Begin(context.Context, compactor.Compaction) (compactor.Job, error) {
	return nil, errOnlooker
}

func (readOnlyRecords) Commit(context.Context, *transcript.State, transcript.Change) (compactor.Head, error) {
	return compactor.Head{}, errOnlooker
}

// TestKillAtEveryStatement runs a process for each act on real files, and continues from what a
// SIGKILL before each writing statement and in each commit leaves: the folder then has the state
// before or after the step, byte for byte, and the conversation continues.
func TestKillAtEveryStatement(t *testing.T) {
	if os.Getenv(killAct) != "" {
		perform(t)
		return
	}
	if testing.Short() {
		t.Skip("it continues after some hundred kills")
	}
	check.SkipUnderRace(t)
	t.Parallel()
	var kills atomic.Int64
	started := time.Now()
	t.Run("acts", func(t *testing.T) {
		for name, a := range acts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				kills.Add(a.killAtEveryStatement(t, name))
			})
		}
	})
	t.Logf("%d kills were survived in %v", kills.Load(), time.Since(started).Round(time.Second))
}

// killAtEveryStatement kills an act at every point, and returns the number of kills.
func (a act) killAtEveryStatement(t *testing.T, name string) (kills int64) {
	base := t.TempDir()
	prepared := filepath.Join(base, "prepared")
	l := a.open(t, prepared, spacious)
	a.before(l)
	l.close()
	whole, steps := runAndKill(t, name, prepared, base)
	changes := 0
	for i := 1; i < len(whole.Glances); i++ {
		if whole.Glances[i] != whole.Glances[i-1] {
			changes++
		}
	}
	check.Require(t, changes == a.changes && (a.kind == "" || slices.Contains(whole.Kinds, a.kind)),
		"got %d view changes, want %d; stack %v", changes, a.changes, whole.Kinds)
	for i, step := range steps {
		kills++
		dir := filepath.Join(base, fmt.Sprint(i+1))
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // the same files as before
		}
		if err := a.checkAfterKill(t, dir, step, whole); err != nil {
			t.Fatalf("killed at %d of %d: %v", i+1, whole.Strokes, err)
		}
		check.NoError(t, os.RemoveAll(dir))
	}
	return kills
}

// checkAfterKill compares what a killed process left with the states it may have left, and finishes
// the act on it.
func (a act) checkAfterKill(t *testing.T, dir string, step int, whole childReport) error {
	look := openToLook(t, dir)
	defer look.Close()
	if err := sound(look); err != nil {
		return err
	}
	is, was, becomes := a.diskState(t, look), whole.Glances[step], whole.Glances[step+1]
	if is != was && is != becomes && (a.between == "" || !strings.Contains(is, a.between)) {
		return fmt.Errorf("got view\n%s\n--- want\n%s\n--- or\n%s", is, was, becomes)
	}
	l := a.open(t, dir, cmp.Or(a.window, spacious))
	defer l.close()
	l.look = look
	if n := column[int](t, look, "SELECT id FROM compactions WHERE state = 'running'"); len(n) > 0 {
		return fmt.Errorf("got running rows %v", n)
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
	if is, want := a.diskState(t, look), whole.Glances[len(whole.Glances)-1]; is != want {
		return fmt.Errorf("at the end: got view\n%s\n--- want\n%s", is, want)
	}
	if is := remembered(t, look); !slices.Equal(is, whole.Memories) {
		return fmt.Errorf("got memories %q, want %q", is, whole.Memories)
	}
	l.window = spacious
	addNotes(2, 20)(l)
	runRepairs(l)
	g := l.c.Status()
	if len(g.Prepared) > 0 || slices.ContainsFunc(slices.Concat(rowsOf(g.Past.Earlier), g.Stack), compactor.Compaction.NeedsRepair) {
		return fmt.Errorf("after all work: got %d prepared rows; stack %+v, earlier sessions %+v", len(g.Prepared), g.Stack, g.Past.Earlier)
	}
	return l.check()
}
