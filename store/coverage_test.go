package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// coverage is a conversation that changes in random order: whatever is started, stored, applied, hidden, edited, deleted or lost
// in a crash, each message is always in exactly one place, or deleted, and each row has the right count.
type coverage struct {
	open func(dir string) *store.Store
	t    *testing.T
	dir  string
	s    *store.Store
	c    *store.Conversation

	arrived, edits int
	taken          int64
	gone           map[int64]bool // deleted messages
	memories       savedMemories
	jobs, prepared []*coverageJob
	appliedSets    []transcript.Snapshot // the states before those that an undo goes back to
}

// coverageJob is a running compaction.
type coverageJob struct {
	summarize.Job
	from, to int64
	touched  bool // one of its messages has changed since it started
	undone   bool // something was undone since
	children []int64
	drafts   map[string]int64 // the memories that a worker's job will save
}

func TestCoverage(t *testing.T) {
	cover(t, func(dir string) *store.Store { return storetest.OpenStore(t, dir) })
}

// cover plays random histories on a store.
func cover(t *testing.T, open func(dir string) *store.Store) {
	t.Helper()
	all := coverage{t: t, dir: t.TempDir(), open: open}
	all.s = open(all.dir)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &coverage{t: t, dir: all.dir, open: open, s: all.s, gone: make(map[int64]bool)}
		m.memories.read = make(map[int64]bool)
		m.memories.kept = make(map[string]int64)
		m.c = storetest.Find(t, m.s, fmt.Sprintf("terminal:%d", round))
		defer func() { all.s = m.s }()
		rt.Repeat(map[string]func(*rapid.T){
			"deliver": m.deliver, "take up": m.takeUp, "begin": m.begin,
			"begin a fold": m.beginFold, "store": m.store, "apply": m.apply, "undo": m.undo, "emergency": m.emergency,
			"new": m.newSession, "rewrite": m.rewrite, "edit": m.edit, "delete": m.remove, "crash": m.crash, "": m.check,
		})
		checkCoverage(rt, m.c)
	})
}

func (m *coverage) between(rt *rapid.T, name string) (from, to int64) {
	a := rapid.Int64Range(1, m.taken).Draw(rt, name+" from")
	b := rapid.Int64Range(1, m.taken).Draw(rt, name+" to")
	return min(a, b), max(a, b)
}

func (m *coverage) touch(n int64, changed bool) {
	over := func(w *coverageJob) bool { return changed && w.from <= n && n <= w.to }
	for _, j := range m.jobs {
		j.touched = j.touched || over(j)
	}
	m.prepared = slices.DeleteFunc(m.prepared, over)
}

// start starts a job, a rollup if there are children, whose summary a model may still have to redo.
func (m *coverage) start(rt *rapid.T, from, to int64, children ...int64) {
	by := rapid.SampledFrom([]transcript.By{transcript.Worker, transcript.Extractive}).Draw(rt, "by")
	row := transcript.Summary{
		Kind: transcript.Leaf, By: by, Trigger: transcript.OnBackground, Span: transcript.Span{From: from, To: to}, FromTime: storetest.Day, ToTime: storetest.Day,
		Messages: int(to - from + 1), Children: children, AwaitsModel: rapid.Bool().Draw(rt, "awaits a model"),
	}
	if children != nil {
		row.Kind = transcript.Rollup
	}
	w := &coverageJob{Job: check.Must(memory.Of(m.c).Records().Begin(ctx, row))(rt), from: from, to: to, children: children}
	if by == transcript.Worker {
		w.drafts = make(map[string]int64)
		w.Tools(20)
		if !m.gone[w.to] {
			w.drafts[m.memories.draft(rt, w, w.to)] = w.to
		}
	}
	m.jobs = append(m.jobs, w)
}

func (m *coverage) preparedIDs() (list []int64) {
	list = storetest.Map(m.prepared, func(w *coverageJob) int64 { return w.ID() })
	slices.Sort(list)
	return list
}

func (m *coverage) deliver(rt *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(rt, "messages") {
		m.arrived++
		deliverOnly(m.t, m.c, said(m.arrived, "text of a fact"))
	}
}

func (m *coverage) takeUp(rt *rapid.T) {
	budget := rapid.IntRange(1, 100).Draw(rt, "budget")
	m.taken += int64(len(check.Must(m.c.Inbox().Dequeue(ctx, store.All, budget, time.Time{}))(rt)))
}

func (m *coverage) begin(rt *rapid.T) {
	if m.taken > 0 {
		from, to := m.between(rt, "span")
		m.start(rt, from, to)
	}
}

func (m *coverage) beginFold(rt *rapid.T) {
	rows := load(m.t, m.c).Head.Stack
	m.jobs = nil // load has failed the running rows
	if len(rows) < 2 {
		return
	}
	first := rapid.IntRange(0, len(rows)-2).Draw(rt, "first")
	children := rows[first : first+2]
	m.start(rt, children[0].From, children[1].To, transcript.IDs(children)...)
	if len(m.prepared) == 0 && rapid.Bool().Draw(rt, "at once") {
		m.store(rt)
		m.apply(rt)
	}
}

func (m *coverage) store(rt *rapid.T) {
	if len(m.jobs) == 0 {
		return
	}
	j := m.jobs[len(m.jobs)-1]
	m.jobs = m.jobs[:len(m.jobs)-1]
	for _, child := range j.children { // a child may have left the view since it started
		j.touched = j.touched || storetest.Number(m.t, m.c.Store(), "SELECT count(*) FROM compactions WHERE id = ? AND state NOT IN ('prepared', 'applied', 'rolled_up')", child) == 1
	}
	fresh := check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(rt)
	if !j.touched {
		m.prepared = append(m.prepared, j)
	}
	var want []string
	if j.drafts != nil && !j.touched {
		want = m.memories.store(j.from, j.to, j.drafts)
	}
	check.Require(rt, len(fresh) == len(want), "got new memories %v, want %v", fresh, want)
}

func (m *coverage) apply(rt *rapid.T) {
	before := storetest.Peek(rt, m.c)
	cleared := rapid.Int64Range(0, before.Next-1).Draw(rt, "cleared")
	if len(m.prepared) == 0 {
		cleared = 0 // separately it would be a change of its own
	}
	mustApply := len(m.prepared) == 1 && m.prepared[0].children != nil && !m.prepared[0].undone && tiled(before, m.prepared[0].from, m.prepared[0].to, m.prepared[0].children)
	rows := m.preparedIDs()
	if _, applied := storetest.ApplyAndClear(rt, m.c, cleared, rows...); mustApply && applied[0].State != transcript.Applied {
		rt.Fatalf("fold of %d to %d: got %s, want it to replace %s", m.prepared[0].from, m.prepared[0].to, applied[0].State, storetest.Shape(before.Head.Stack))
	}
	after := storetest.Peek(rt, m.c)
	m.prepared = slices.DeleteFunc(m.prepared, func(w *coverageJob) bool { return !slices.Contains(transcript.IDs(after.Prepared), w.ID()) })
	if !reflect.DeepEqual(after.Head.Stack, before.Head.Stack) { // rows applied in earlier sessions are not undone
		m.appliedSets = append(m.appliedSets, before)
	} else if reflect.DeepEqual(after.Head.Earlier, before.Head.Earlier) && after.Head.Version != before.Head.Version {
		rt.Fatalf("nothing applied, but the head changed from %+v to %+v", before.Head, after.Head)
	}
}

func (m *coverage) undo(rt *rapid.T) {
	l := latest(rt, m.c)
	if l.Why != "" {
		check.Require(rt, len(m.appliedSets) == 0, "undo of %+v", l)
		return
	}
	undo(rt, m.c)
	over := func(w *coverageJob) bool { // it would hide the restored messages again
		return slices.ContainsFunc(l.Act().Rows, func(row transcript.Summary) bool { return row.From <= w.to && w.from <= row.To })
	}
	for _, w := range slices.Concat(m.jobs, m.prepared) {
		w.undone, w.touched = true, w.touched || over(w)
	}
	m.prepared = slices.DeleteFunc(m.prepared, over)
	if len(m.appliedSets) == 0 {
		return
	}
	was := m.appliedSets[len(m.appliedSets)-1]
	is := storetest.Peek(rt, m.c)
	m.appliedSets = m.appliedSets[:len(m.appliedSets)-1]
	if !reflect.DeepEqual(is.Head.Stack, was.Head.Stack) || is.Head.ClearedTo != was.Head.ClearedTo ||
		len(is.Messages) < len(was.Messages) || len(was.Messages) > 0 && !reflect.DeepEqual(is.Messages[:len(was.Messages)], was.Messages) {
		rt.Fatalf("before the compaction\n%+v\nafter it was undone\n%+v", was, is)
	}
}

// rewrite rewrites the first line of a summary of the session.
func (m *coverage) rewrite(rt *rapid.T) {
	before := storetest.Peek(rt, m.c)
	rows := slices.DeleteFunc(slices.Clone(before.Head.Stack), func(row transcript.Summary) bool { return row.Text == "" })
	if len(rows) == 0 {
		return
	}
	row := rapid.SampledFrom(rows).Draw(rt, "rewritten")
	text := fmt.Sprint("line ", before.Head.Version)
	head := storetest.Commit(rt, m.c, func(s *transcript.State) (transcript.Change, error) { return s.Rewrite(row.ID, 0, text, ann) })
	shown := slices.ContainsFunc(head.Stack, func(now transcript.Summary) bool {
		return now.Span == row.Span && strings.HasPrefix(now.Text, "- "+text)
	})
	check.Require(rt, shown, "the line was not rewritten: %+v", head.Stack)
	m.appliedSets = append(m.appliedSets, before)
	over := func(w *coverageJob) bool { return w.from <= row.To && row.From <= w.to }
	for _, w := range m.jobs {
		w.touched = w.touched || over(w)
	}
	m.prepared = slices.DeleteFunc(m.prepared, over)
}

func (m *coverage) emergency(rt *rapid.T) {
	verbatim := load(m.t, m.c).Messages
	m.jobs = nil
	if len(verbatim) == 0 {
		return
	}
	n := 1 // neighbors, from the oldest on
	for n < len(verbatim) && verbatim[n].Seq == verbatim[n-1].Seq+1 {
		n++
	}
	last := verbatim[rapid.IntRange(1, n).Draw(rt, "messages")-1].Seq
	row := transcript.Summary{Trigger: transcript.OnEmergency, Span: transcript.Span{From: verbatim[0].Seq, To: last}, AwaitsModel: rapid.Bool().Draw(rt, "awaits a model")}
	cleared := rapid.Int64Range(0, last).Draw(rt, "cleared")
	storetest.Commit(rt, m.c, func(s *transcript.State) (transcript.Change, error) {
		return s.Truncate([]transcript.Summary{row}, cleared), nil
	})
	m.appliedSets = nil
}

func (m *coverage) newSession(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "rarely") > 0 {
		return
	}
	left := false
	for n := peek(m.t, m.c).Head.Start; n <= m.taken; n++ {
		left = left || !m.gone[n]
	}
	head, started := startSession(rt, m.c)
	right := started == left && (!started || head.Start == m.taken+1)
	check.Require(rt, right, "a new session: %v, at %d; messages in the one before: %v", started, head.Start, left)
	if started {
		m.appliedSets = nil
	}
}

func (m *coverage) edit(rt *rapid.T) {
	if m.taken == 0 {
		return
	}
	n := rapid.Int64Range(1, m.taken).Draw(rt, "message")
	m.edits++
	now := said(int(n), fmt.Sprint("text of a fact, edited ", m.edits))
	now.Time = now.Time.AddDate(0, 0, m.edits)
	seq, changed, err := m.c.Transcript().Edit(ctx, now, nil)
	right := err == nil && changed != m.gone[n] && (!changed || seq == n)
	check.Require(rt, right, "message %d is edited: %d, %v, %v; deleted %v", n, seq, changed, err, m.gone[n])
	m.appliedSets = nil
	m.touch(n, !m.gone[n])
}

func (m *coverage) remove(rt *rapid.T) {
	if m.taken == 0 {
		return
	}
	n := rapid.Int64Range(1, m.taken).Draw(rt, "message")
	deleted := remove(rt, m.c, int(n))
	check.Require(rt, (len(deleted) == 1) != m.gone[n], "got deleted %v, before: %v", deleted, m.gone)
	m.touch(n, !m.gone[n])
	m.gone[n] = true
	m.appliedSets = nil
	m.memories.forget(n)
}
