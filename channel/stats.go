package channel

import (
	"sync/atomic"

	"cairn/llm"
)

// Stats is how a hub fares. What is counted is counted from its start on.
type Stats struct {
	Open  int // conversations in memory
	Stuck int // of them, those that cannot go on just now, as when the disk refuses

	Turns   int64 // that were answered
	Failed  int64 // that came to a sentence on why there is no answer
	Failing int64 // of them, those since the last answer

	Calls                      int64 // answers of the model in turns, those of tools' steps included
	Prompt, Cached, Completion int64 // tokens of these, as the provider counted them; Cached is a part of Prompt
}

// tally counts for Stats.
type tally struct {
	turns, failed, failing, calls, prompt, cached, completion atomic.Int64
}

func (t *tally) answered() {
	t.turns.Add(1)
	t.failing.Store(0)
}

func (t *tally) failure() {
	t.failed.Add(1)
	t.failing.Add(1)
}

func (t *tally) call(u llm.Usage) {
	t.calls.Add(1)
	t.prompt.Add(int64(u.Prompt))
	t.cached.Add(int64(u.Cached))
	t.completion.Add(int64(u.Completion))
}

// Stats returns how the hub fares now.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	open := len(h.open)
	h.mu.Unlock()
	t := &h.tally
	return Stats{
		Open: open, Stuck: h.trouble.left(),
		Turns: t.turns.Load(), Failed: t.failed.Load(), Failing: t.failing.Load(),
		Calls: t.calls.Load(), Prompt: t.prompt.Load(), Cached: t.cached.Load(), Completion: t.completion.Load(),
	}
}
