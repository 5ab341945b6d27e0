package compactor

import (
	"cmp"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/tokens"
)

// Repair: a model summarizes what the extractive summarizer has stood in for. What awaits a model is
// repaired also while nobody speaks; of talk in which the bot had no part only what stands
// next to a question is worth a model.

// nearQuestion is how many of the newest rows stand next to a question.
const nearQuestion = 2

// ready reports whether no model is going to make row better before it is folded.
func (c *Compactor) ready(row Compaction) bool {
	return !row.NeedsRepair() || row.Kind != Placeholder && (!row.AwaitsModel || !c.hasModel(c.o.Policy()) || c.givenUp(row))
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
	return c.noModel(c.o.Policy()) || now.Before(c.retries.retryAt)
}

// fallbackWake is when to look again if nothing says when.
const fallbackWake = 10 * time.Minute

// sleep is when to look again, because what waits may begin then; zero: nothing waits.
func (c *Compactor) sleep() (at time.Time) {
	s, p, now := c.h.view, c.policy(), c.o.Now()
	if c.draining {
		return at
	}
	waits := c.hasModel(p) && len(c.repairable(s)) > 0
	waits = waits || slices.ContainsFunc(s.head.Rows(), func(row Compaction) bool {
		return row.Kind == Placeholder && now.Before(c.retries.repairAt(row.ID))
	})
	waits = waits || levelOf(c.used(s), c.o.Window(), p) != levelNone && now.Before(c.retries.retryAt)
	if !waits {
		return at
	}
	sooner := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(c.retries.retryAt)
	sooner(c.retries.vetoes[OnRepair].until)
	for _, row := range s.head.Rows() {
		sooner(c.retries.repairAt(row.ID))
		sooner(c.restsUntil(row))
	}
	if at.IsZero() && c.noModel(p) {
		at = now.Add(fallbackWake)
	}
	return at
}

// A placeholder is filled by the extractive summarizer at once, beside whatever a model is
// doing: it needs milliseconds, and a model that hangs minutes. The model repairs later what
// was filled.

// planFill plans to fill the oldest placeholder.
// What somebody undid is left alone, and so is one for whose summary there is no room.
func (c *Compactor) planFill(now time.Time) *job {
	if c.retries.forbids(OnRepair, now) {
		return nil
	}
	s, p, window := c.h.view, c.policy(), c.o.Window()
	used := c.used(s)
	extractive, _ := c.summarizer(p, s, now)
	for _, row := range s.head.Rows() {
		if row.ID == 0 || row.Kind != Placeholder || now.Before(c.retries.repairAt(row.ID)) || replaced(c.prepared, row) {
			continue
		}
		if c.spares(row.From, row.To) {
			continue
		}
		j := c.newJob(OnRepair, Leaf, row.Level, 0, p, window, true)
		j.repairs, j.fills, j.again, j.row.Focus = row.ID, true, !extractive, cmp.Or(row.Focus, j.row.Focus)
		if row.IsRollup() { // which lost its text
			j.row.Kind, j.row.Children, j.children = Rollup, row.Children, []Compaction{row}
		}
		if !c.fits(j, row, s, used) {
			continue
		}
		j.row.Declined = row.Declined
		j.row.AwaitsModel = j.row.AwaitsModel || row.AwaitsModel && c.hasModel(p)
		j.covers(row)
		return j
	}
	return nil
}

// replaced reports whether one of the rows stands for all that row stands for. A text for a
// part of a placeholder, made before it grew, does not.
func replaced(rows []Compaction, row Compaction) bool {
	return slices.ContainsFunc(rows, func(r Compaction) bool { return r.From <= row.From && row.To <= r.To })
}

// fits bounds the text that takes row's place to the room there is, and reports whether there
// is any. The filler rather writes less than fold what a model wrote.
func (c *Compactor) fits(j *job, row Compaction, s view, used int) bool {
	if row.From < s.head.Start && !s.past.shows(row.ID) {
		return true // it takes no room
	}
	j.most = c.room(used, j.window, j.policy) + row.Tokens - headingCost
	if row.Kind != Placeholder {
		j.most = max(j.most, tokens.Estimate(row.Text))
	}
	if left := j.policy.stackBudget(j.budget) - s.stackCost() + row.Tokens - headingCost; j.fills && left >= summarize.MinSummary {
		j.most = min(j.most, left)
	}
	return j.most >= summarize.MinSummary
}

// covers has the job's row stand for the messages of another one.
func (j *job) covers(row Compaction) {
	j.row.From, j.row.To, j.row.Messages = row.From, row.To, row.Messages
	j.row.FromTime, j.row.ToTime = row.FromTime, row.ToTime
}
