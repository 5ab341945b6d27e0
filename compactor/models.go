package compactor

import (
	"slices"
	"time"

	"cairn/compactor/worker"
	"cairn/prompts"
)

// models are the models that make summaries, and what limits their use. It never changes, and may be used in any
// goroutine.
type models struct {
	o  *Options
	by *worker.Worker
}

func newModels(o *Options) models {
	return models{o: o, by: &worker.Worker{
		Model: o.Worker, Fallback: o.Fallback, Texts: prompts.In(o.Language), Prompt: o.Prompt, System: o.System,
		Spend: o.Spend, Spent: o.Spent, Slots: o.Slots, Open: o.Open, Log: o.Log, Now: o.Now,
	}}
}

// has reports whether p lets a model make summaries, though perhaps not right now.
func (m models) has(p Policy) bool {
	return m.o.Worker != nil && m.o.Strategy(p.Strategy).AsksModel()
}

// none reports whether p or the budget allows no model to make summaries now.
func (m models) none(p Policy) bool {
	return !m.has(p) || m.o.Spend != nil && m.o.Spend(false) != nil
}

// choose reports whether the extractive summarizer makes the next summary, and whether any
// summarizer may run now. A conversation in which the bot takes no part is not worth the cost of a
// model.
func (m models) choose(p Policy, addressed bool, r retries, now time.Time) (extractive, ready bool) {
	switch waiting := now.Before(r.retryAt); {
	case m.none(p), waiting && r.failures >= p.FailureLimit:
		return true, !now.Before(r.extractiveRetryAt)
	case waiting:
		return false, false
	}
	return !addressed, true
}

// declineCount returns how often the current worker model declined row's span.
func (m models) declineCount(row Summary) int {
	if m.o.Worker == nil {
		return 0
	}
	return row.Declined.Count(m.o.Worker.Name())
}

// gaveUp reports whether no model is called for row any more.
func (m models) gaveUp(row Summary) bool { return m.declineCount(row) >= m.o.Policy().FailureLimit }

// ready reports whether row can be folded: no model is going to improve it first.
func (m models) ready(row Summary) bool {
	return !row.NeedsRepair() || row.Kind != Placeholder && (!row.AwaitsModel || !m.has(m.o.Policy()) || m.gaveUp(row))
}

// worthFolding reports whether a model should fold rows: all are ready, and a worker wrote at least
// one.
func (m models) worthFolding(rows []Summary) bool {
	return !slices.ContainsFunc(rows, func(row Summary) bool { return !m.ready(row) }) &&
		slices.ContainsFunc(rows, func(row Summary) bool { return row.By == ByWorker })
}
