package compactor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

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
