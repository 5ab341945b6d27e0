package channel

import (
	"cmp"
	"slices"
	"sync/atomic"

	"cairn/llm"
	"cairn/memory"
)

// Stats is how a hub fares. What is counted is counted from its start on.
type Stats struct {
	Open  int // conversations in memory
	Stuck int // of them, those that cannot go on just now, as when the disk refuses

	Refused int   // conversations whose next reply could not be sent and is tried again
	Dropped int64 // pieces of replies that were given up

	Turns   int64 // that were answered
	Failed  int64 // that came to a sentence on why there is no answer
	Failing int64 // of them, those since the last answer

	Usage []memory.Usage // of models, by kind and model; of no single conversation or day
}

// metrics counts for Stats.
type metrics struct {
	turns, failed, failing atomic.Int64
	refused, dropped       atomic.Int64
	usage                  pendingUsage // never taken
}

func (t *metrics) answered() {
	t.turns.Add(1)
	t.failing.Store(0)
}

func (t *metrics) failure() {
	t.failed.Add(1)
	t.failing.Add(1)
}

func (t *metrics) use(kind, model string, u llm.Usage) { t.usage.add("", kind, model, u) }

// used returns a copy of what was counted, in a fixed order.
func (p *pendingUsage) used() []memory.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.all)
	slices.SortFunc(all, func(a, b memory.Usage) int {
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.Model, b.Model))
	})
	return all
}

// Stats returns how the hub fares now.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	open := len(h.open)
	h.mu.Unlock()
	t := &h.metrics
	return Stats{
		Open: open, Stuck: h.stuck.left(), Refused: int(t.refused.Load()), Dropped: t.dropped.Load(),
		Turns: t.turns.Load(), Failed: t.failed.Load(), Failing: t.failing.Load(),
		Usage: t.usage.used(),
	}
}
