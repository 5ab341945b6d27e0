// What is checked and counted when a history ends: expanding a summary returns its messages, and each
// memory is saved once.

package compactor_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/memory"

	"pgregory.net/rapid"
)

// checkExpand checks that each row in the view expands to exactly the messages it covers, and that
// the children of a rollup tile it.
func (m *machine) checkExpand(rt *rapid.T) {
	head, _, err := m.r.conv.Compactions().Head(context.Background())
	check.NoError(rt, err)
	for _, row := range m.r.rowsOf(head) {
		var want []int64
		for seq := row.From; seq <= row.To; seq++ {
			if !m.r.gone[seq] {
				want = append(want, seq)
			}
		}
		check.EqualAll(rt, fmt.Sprintf("messages of row %d over #%d to #%d", row.ID, row.From, row.To), m.expand(rt, row.ID), want)
		check.Equal(rt, fmt.Sprintf("count of row %d", row.ID), row.Messages, len(want))
	}
}

func (m *machine) expand(rt *rapid.T, id int64) (seqs []int64) {
	e, err := m.r.conv.Transcript().Expand(context.Background(), id, 0, 10_000)
	check.NoError(rt, err)
	m.tally.add(1, "rows expanded")
	check.Require(rt, len(e.Children) != 0 || e.Row.Kind != compactor.Rollup, "rollup %d has no children", id)
	for _, child := range e.Children {
		check.Require(rt, child.From >= e.Row.From && child.To <= e.Row.To, "child %d of %d is outside it", child.ID, id)
		seqs = append(seqs, m.expand(rt, child.ID)...)
	}
	for _, said := range e.Messages {
		check.Require(rt, said.Text == m.r.said[said.Seq-1].Text, "message %d of row %d: got %q", said.Seq, id, said.Text)
		seqs = append(seqs, said.Seq)
	}
	return seqs
}

// checkMemoriesSavedOnce checks that no two workers saved a memory from the same message.
func (m *machine) checkMemoriesSavedOnce(rt *rapid.T) {
	saved, _, err := memory.In(m.f.store).List(context.Background(), memory.Filter{Conversation: m.r.name})
	check.NoError(rt, err)
	seen := make(map[string]bool)
	for _, s := range saved {
		if s.By != "worker" {
			continue
		}
		m.tally.add(1, "memories of a worker")
		check.Require(rt, !seen[s.Content] && s.Confirmed == 1,
			"%q was saved more than once, and confirmed %d times", s.Content, s.Confirmed)
		seen[s.Content] = true
		check.Require(rt, len(s.Sources) == 1 && s.Content == fact(s.Sources[0]) && !m.r.gone[s.Sources[0]],
			"%q came from %v", s.Content, s.Sources)
	}
}

// tally counts by name what happened in all histories.
type tally struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (t *tally) add(n int, what ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[fmt.Sprintln(what...)] += n
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "%8d %s", t.counts[what], what)
	}
	return b.String()
}

// count counts a history that has ended.
func (m *machine) count() {
	m.tally.add(1, "histories that are silent, of a thread, loose, without a model:", m.silent, m.channel != "", m.loose, m.r.worker == nil)
	m.tally.add(len(m.r.said), "messages")
	m.tally.add(m.r.edits, "messages edited")
	m.tally.add(len(m.r.gone), "messages deleted")
	m.tally.add(len(m.r.ends), "sessions ended")
	if m.r.worker != nil {
		m.tally.add(len(m.r.worker.Requests()), "requests of the worker")
	}
}
