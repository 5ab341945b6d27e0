package compactor

import (
	"cmp"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/tokens"
)

// A placeholder is filled by the extractive summarizer at once, beside whatever a model is
// doing: it needs milliseconds, and a model that hangs minutes. The model repairs later what
// was filled.

// planFill plans to fill the oldest placeholder.
// What somebody undid is left alone, and so is one for whose summary there is no room.
func (c *Compactor) planFill(now time.Time) *job {
	if c.rests(OnRepair, now) {
		return nil
	}
	s, p, window := c.h.view, c.o.Policy(), c.o.Window()
	used := c.used(s)
	extractive, _ := c.summarizer(p, s, now)
	for _, row := range s.head.rows() {
		if row.ID == 0 || row.Kind != Placeholder || now.Before(c.repairBackoffs[row.ID].retryAt) || replaced(c.prepared, row) {
			continue
		}
		if s.head.Spares(row.From, row.To) && !c.undoLifted {
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
		j.row.AwaitsModel = j.row.AwaitsModel || row.AwaitsModel && c.o.Worker != nil
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
	if left := j.policy.stackBudget(j.budget) - s.head.stackCost(s.shape) + row.Tokens - headingCost; j.fills && left >= summarize.MinSummary {
		j.most = min(j.most, left)
	}
	return j.most >= summarize.MinSummary
}

// covers has the job's row stand for the messages of another one.
func (j *job) covers(row Compaction) {
	j.row.From, j.row.To, j.row.Messages = row.From, row.To, row.Messages
	j.row.FromTime, j.row.ToTime = row.FromTime, row.ToTime
}
