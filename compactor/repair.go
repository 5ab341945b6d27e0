package compactor

import (
	"slices"
	"time"
)

// Repair: a model summarizes what the extractive summarizer has stood in for. What awaits a model is
// repaired also while nobody speaks; of talk in which the bot had no part only what stands
// next to a question is worth a model.

// nearQuestion is how many of the newest rows stand next to a question.
const nearQuestion = 2

// ready reports whether no model is going to make row better before it is folded.
func (c *Compactor) ready(row Compaction) bool {
	return !row.NeedsRepair() || row.Kind != Placeholder && (!row.AwaitsModel || c.o.Worker == nil || c.givenUp(row))
}

// repairable are the rows in s that a model is to summarize, the newest first.
func (c *Compactor) repairable(s view) (rows []Compaction) {
	var all []Compaction
	for _, row := range slices.Backward(s.head.Stack) {
		all = append(all, row)
	}
	near, asked := 0, len(all) > 0 && s.question >= all[0].From // nothing was summarized since
	if asked {
		near = nearQuestion
	}
	for _, session := range slices.Backward(s.head.Earlier) {
		for _, row := range slices.Backward(session.Rows) {
			all = append(all, row)
		}
	}
	for i, row := range all {
		if row.ID == 0 || row.Kind == Placeholder || !row.NeedsRepair() || c.givenUp(row) {
			continue
		}
		written := asked && row.Kind == Rollup && slices.Contains(row.Sources, 0) // its children's texts suffice
		if row.AwaitsModel || i < near && row.Kind == Leaf || written {
			rows = append(rows, row)
		}
	}
	return rows
}

// planFold chooses rows to fold, and who folds them. A model folds only what nobody is
// going to make better, so that it reads summaries and no past; and none pays for a fold of
// talk that nobody addressed to the bot.
func (c *Compactor) planFold(s view, p Policy, extractive bool) (children []Compaction, byExtractive bool) {
	if !extractive {
		only := s
		only.inWork = slices.Clone(s.inWork)
		for _, row := range s.head.Stack {
			if !c.ready(row) {
				only.inWork = append(only.inWork, row)
			}
		}
		if children = planFold(only, p.RollupFanIn, false); c.worthModel(children) {
			return children, false
		}
	}
	return planFold(s, p.RollupFanIn, true), true
}

// worthModel reports whether a model folds rows: it reads texts alone, and wrote one of them.
func (c *Compactor) worthModel(rows []Compaction) bool {
	return !slices.ContainsFunc(rows, func(row Compaction) bool { return !c.ready(row) }) &&
		slices.ContainsFunc(rows, func(row Compaction) bool { return row.By == ByWorker })
}

// modelWaits reports whether no model may be asked now.
func (c *Compactor) modelWaits(now time.Time) bool {
	return c.noModel() || now.Before(c.backoff.retryAt)
}

// fallbackWake is when to look again if nothing says when.
const fallbackWake = 10 * time.Minute

// sleep is when to look again, because what waits may begin then; zero: nothing waits.
func (c *Compactor) sleep() (at time.Time) {
	s, p, now := c.h.view, c.o.Policy(), c.o.Now()
	if c.draining {
		return at
	}
	waits := c.o.Worker != nil && len(c.repairable(s)) > 0
	waits = waits || slices.ContainsFunc(s.head.rows(), func(row Compaction) bool {
		return row.Kind == Placeholder && now.Before(c.repairBackoffs[row.ID].retryAt)
	})
	waits = waits || levelOf(c.used(s), c.o.Window(), p) != levelNone && now.Before(c.backoff.retryAt)
	if !waits {
		return at
	}
	sooner := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(c.backoff.retryAt)
	sooner(c.vetoes[OnRepair].until)
	for _, row := range s.head.rows() {
		sooner(c.repairBackoffs[row.ID].retryAt)
		sooner(c.restsUntil(row))
	}
	if at.IsZero() && c.noModel() {
		at = now.Add(fallbackWake)
	}
	return at
}
