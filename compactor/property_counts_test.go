package compactor_test

import (
	"fmt"
	"strings"
	"sync"

	"cairn/compactor"
)

// Counts of what happened in all histories.

const eventKinds = 64

// eventName indexes the counted kinds of compaction steps.
func eventName(e compactor.Event) int {
	for i, k := range kindsOfEvents {
		if k.is(e) {
			return i
		}
	}
	return len(kindsOfEvents)
}

var kindsOfEvents = []struct {
	name string
	is   func(e compactor.Event) bool
}{
	{"emergencies", func(e compactor.Event) bool {
		return e.State == compactor.EventApplied && e.Kind == compactor.Placeholder
	}},
	{"repairs applied", func(e compactor.Event) bool {
		return e.State == compactor.EventApplied && e.Trigger == compactor.OnRepair
	}},
	{"rollups applied", func(e compactor.Event) bool {
		return e.State == compactor.EventApplied && e.Kind == compactor.Rollup
	}},
	{"leaves of a worker applied", func(e compactor.Event) bool {
		return e.State == compactor.EventApplied && e.By == compactor.ByWorker
	}},
	{"leaves of the extractive summarizer applied", func(e compactor.Event) bool { return e.State == compactor.EventApplied }},
	{"begun", func(e compactor.Event) bool { return e.State == compactor.EventStarted }},
	{"prepared", func(e compactor.Event) bool { return e.State == compactor.EventPrepared }},
	{"failed", func(e compactor.Event) bool { return e.State == compactor.EventFailed }},
	{"undone", func(e compactor.Event) bool { return e.State == compactor.EventUndone }},
	{"stale when they would have been applied", func(e compactor.Event) bool { return e.State == compactor.EventNoop && e.ID != 0 }},
	{"wishes that did nothing", func(e compactor.Event) bool { return e.State == compactor.EventNoop }},
	{"other steps", func(compactor.Event) bool { return true }},
}

type metrics struct {
	mu sync.Mutex // guards everything below, of the tally that many histories share

	histories, silent, threads, loose, noModel, counting int
	faulty                                               int // histories with a fault
	operations, underFault                               int
	fewest                                               int // operations of a history
	steps                                                [64]int
	events                                               [eventKinds]int64
	sessions, edits, deleted, messages                   int
	restarts, files, requests, overflows, prefixes       int
	expanded, memories, asked, numbers                   int
}

func (t *metrics) step(i int, fault bool) {
	t.steps[i]++
	t.operations++
	if fault {
		t.underFault++
	}
}

// count adds a history to the totals.
func (m *machine) count(all *metrics) {
	all.mu.Lock()
	defer all.mu.Unlock()
	own := m.metrics
	add := func(to *int, is bool) {
		if is {
			*to++
		}
	}
	all.histories++
	add(&all.silent, m.silent)
	add(&all.threads, m.channel != "")
	add(&all.loose, m.loose)
	add(&all.noModel, m.r.worker == nil)
	add(&all.counting, m.r.size > 0)
	add(&all.faulty, own.underFault > 0)
	if all.fewest == 0 || own.operations < all.fewest {
		all.fewest = own.operations
	}
	all.operations += own.operations
	all.underFault += own.underFault
	for i := range own.steps {
		all.steps[i] += own.steps[i]
	}
	for i := range all.events {
		all.events[i] += m.events[i].Load()
	}
	all.sessions += len(m.r.ends)
	all.edits += m.r.edits
	all.deleted += len(m.r.gone)
	all.messages += len(m.r.said)
	all.restarts += own.restarts
	all.files += own.files
	all.requests += own.requests
	all.overflows += own.overflows
	all.prefixes += own.prefixes
	all.expanded += own.expanded
	all.memories += own.memories
	all.numbers += int(m.numbers.Load())
	if m.r.worker != nil {
		all.asked += len(m.r.worker.Requests())
	}
}

func (t *metrics) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories (%d with a fault; %d silent, %d threads, %d in which nobody waits for the worker, %d without a model, %d with a provider that counts)\n",
		t.histories, t.faulty, t.silent, t.threads, t.loose, t.noModel, t.counting)
	fmt.Fprintf(&b, "%d operations, at least %d a history, %d of them under a fault (%d%%)\n", t.operations, t.fewest, t.underFault, 100*t.underFault/max(t.operations, 1))
	for i, s := range steps {
		fmt.Fprintf(&b, "  %-34s %d\n", s.name, t.steps[i])
	}
	fmt.Fprintf(&b, "of compactions\n")
	for i, k := range kindsOfEvents {
		fmt.Fprintf(&b, "  %-34s %d\n", k.name, t.events[i])
	}
	fmt.Fprintf(&b, "%d messages, %d edits, %d deleted, %d segments ended\n", t.messages, t.edits, t.deleted, t.sessions)
	fmt.Fprintf(&b, "%d restarts, %d of them of the file too; %d requests held to the strict provider, %d of them to go on from the one before, %d refused for their size\n", t.restarts, t.files, t.requests, t.prefixes, t.overflows)
	fmt.Fprintf(&b, "%d requests of the worker; %d rows expanded; %d memories of a worker; %d landings whose numbers were held to the status", t.asked, t.expanded, t.memories, t.numbers)
	return b.String()
}
