package compactor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// killRig is a rig that can open a folder left by another process. Work starts only when a test
// allows it: so an act makes one change, and no repair follows.
type killRig struct {
	*rig
	free atomic.Bool
}

// open opens the folder like a bot at its start, and reads the messages from it.
func (a act) open(t *testing.T, dir string, window int) *killRig {
	l := &killRig{rig: &rig{t: t, folder: folder{dir: dir}, name: a.name, window: window, policy: a.policy()}}
	l.worker = &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return saveMemories(req, cmp.Or(a.words, 100)), nil
	}}
	l.tune = append(l.tune, func(o *compactor.Options) { o.Before = unless(func() bool { return !l.free.Load() }) })
	l.open()
	page := check.Must(l.conv.Transcript().Page(context.Background(), 1, 1<<20))(t)
	state := check.Must(l.conv.Compactions().Load(context.Background()))(t)
	l.messages = make([]chat.Message, state.Next-1)
	l.deleted = make(map[int64]bool)
	for i := range l.messages {
		l.messages[i] = chat.Message{Seq: int64(i + 1), ID: fmt.Sprint("m", i+1)}
		l.deleted[int64(i+1)] = true
	}
	for _, m := range page {
		check.Require(t, m.Seq < state.Next, "got message %d, but the next seq is %d", m.Seq, state.Next)
		l.messages[m.Seq-1] = m
		delete(l.deleted, m.Seq)
	}
	for _, s := range state.Head.Earlier {
		l.ends = append(l.ends, s.To)
	}
	return l
}

func (a act) policy() compactor.Policy {
	p := plainPolicy()
	p.StackBudget = cmp.Or(a.stack, p.StackBudget)
	return p
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
	slow(t)
	for name, a := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a.killAtEveryStatement(t, name)
		})
	}
}

func (a act) killAtEveryStatement(t *testing.T, name string) {
	base := t.TempDir()
	prepared := filepath.Join(base, "prepared")
	l := a.open(t, prepared, spacious)
	a.before(l)
	l.close()
	whole, steps := runAndKill(t, name, prepared, base)
	check.Require(t, len(slices.Compact(slices.Clone(whole.Glances))) == 1+cmp.Or(a.changes, 1) && (a.kind == "" || slices.Contains(whole.Kinds, a.kind)),
		"got views %q, want %d changes; stack %v", whole.Glances, cmp.Or(a.changes, 1), whole.Kinds)
	for i, step := range steps {
		dir := filepath.Join(base, fmt.Sprint(i+1))
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // the same files as before
		}
		t.Run(fmt.Sprintf("killed at %d of %d", i+1, whole.Strokes), func(t *testing.T) { a.checkAfterKill(t, dir, step, whole) })
		check.NoError(t, os.RemoveAll(dir))
	}
	t.Logf("%d kills were survived", len(steps))
}

// checkAfterKill compares what a killed process left with the states it may have left, and finishes the act on it.
func (a act) checkAfterKill(t *testing.T, dir string, step int, whole childReport) {
	look := openToLook(t, dir)
	defer look.Close()
	is := a.diskState(t, look)
	was := whole.Glances[step]
	becomes := whole.Glances[step+1]
	check.Require(t, is == was || is == becomes || a.between != "" && strings.Contains(is, a.between),
		"got view\n%s\n--- want\n%s\n--- or\n%s", is, was, becomes)
	l := a.open(t, dir, cmp.Or(a.window, spacious))
	defer l.close()
	l.look = look
	sound(t, look)
	l.verify()
	if is == becomes && is != was {
		step++
	}
	for _, do := range a.steps[step:] {
		do(l)
	}
	l.verify()
	check.Equal(t, "the view at the end", a.diskState(t, look), whole.Glances[len(whole.Glances)-1])
	check.EqualAll(t, "memories", remembered(t, look), whole.Memories)
	l.window = spacious
	addNotes(2, 20)(l)
	runRepairs(l)
	g := l.c.Status()
	rows := slices.Concat(rowsOf(g.Past.Earlier), g.Stack)
	check.That(t, len(g.Prepared) == 0 && !slices.ContainsFunc(rows, compactor.Summary.NeedsRepair),
		"after all work: got %d prepared rows; rows %+v", len(g.Prepared), rows)
	l.verify()
}

func (a act) diskState(t *testing.T, data *store.Store) string {
	ctx := context.Background()
	conv := check.Must(data.Find(ctx, cmp.Or(a.name, testConversation)))(t)
	c := check.Must(compactor.Open(ctx, compactor.Options{ // without Start it starts nothing
		Records: &faultyDisk{Records: memory.Of(conv).Records(), refuses: true}, // prepared rows stay prepared
		Policy:  a.policy, Window: func() int { return spacious },
		System: "You are a test.", Log: slog.New(slog.DiscardHandler),
	}))(t)
	defer c.Close()
	prompt := check.Must(c.Request(ctx))(t)
	page := check.Must(conv.Transcript().Page(ctx, 1, 1<<20))(t)
	var b strings.Builder
	b.WriteString(inLines(prompt.Messages))
	for _, m := range page {
		fmt.Fprintf(&b, "%d|%d|%s|%s\n", m.Seq, m.Turn, m.Role, m.Text)
	}
	return b.String()
}

func sound(t *testing.T, data *store.Store) {
	t.Helper()
	found, err := data.Upkeep().Check(context.Background())
	check.Require(t, err == nil && len(found) == 0, "the file: %v, %v", found, err)
	for what, query := range map[string]string{
		"memories of unfinished work":                 "SELECT c.id FROM memories m JOIN compactions c ON c.id = m.compaction WHERE c.ended_at IS NULL OR c.state = 'failed'",
		"memories that are there twice":               "SELECT min(id) FROM memories GROUP BY content HAVING count(*) > 1",
		"rows without their text, or which still run": "SELECT id FROM compactions WHERE state = 'prepared' AND text = '' OR state = 'running'",
	} {
		check.Len(t, what, column[int](t, data, query), 0)
	}
}

// openToLook opens a store as a command does beside the bot: it changes nothing. A connection
// reads the whole schema first, so a kill has one for all that is looked at.
func openToLook(t testing.TB, dir string) *store.Store {
	t.Helper()
	return storetest.OpenBeside(t, dir)
}

func (r *rig) count(query string) int { return column[int](r.t, r.store, query)[0] }

func column[T any](t testing.TB, data *store.Store, query string) []T {
	t.Helper()
	return storetest.Column[T](t, data, query)
}

// memories returns the conversation's memories that contain all words of query.
func (r *rig) memories(query string) []memory.Memory {
	r.t.Helper()
	found, _, err := memory.Of(r.conv).List(context.Background(), memory.Filter{Query: query})
	check.NoError(r.t, err)
	return found
}

func remembered(t *testing.T, data *store.Store) []string {
	return column[string](t, data, "SELECT content || ', ' || state FROM memories ORDER BY 1")
}

// saveMemories is a worker that saves one memory and then summarizes, in words that depend only on the span.
func saveMemories(req llm.Request, words int) llm.Response {
	span := spanOf(req)
	var from, to int
	if _, err := fmt.Sscanf(span, "messages #%d to #%d", &from, &to); err == nil && savesMemories(req) && len(req.Messages) == 2 {
		return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": fmt.Sprintf("Ada spoke of %d to %d.", from, to), "kind": "fact", "messages": []int{to}}))
	}
	return summary(fmt.Sprintf("Of %s. %s", span, filler(words)))
}
