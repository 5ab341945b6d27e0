package compactor

import (
	"cmp"
	"context"
	"slices"

	"cairn/internal/tokens"
	"cairn/transcript"
)

// Repair: a model rewrites what the extractive summarizer made in its place. Rows that await a
// model are repaired even while the conversation is idle; of talk in which the bot took no part,
// only rows next to a question are worth a model.

// nearQuestion is how many of the newest rows count as next to a question.
const nearQuestion = 2

// repairable returns the rows in s that a model should summarize, newest first.
func (pl *planner) repairable(s view) (rows []Summary) {
	var all []Summary
	for _, session := range s.Head.Earlier {
		all = append(all, session.Rows...)
	}
	all = append(all, s.Head.Stack...)
	slices.Reverse(all)
	near := 0
	asked := len(all) > 0 && s.question >= all[0].From // nothing was summarized since the question
	if asked {
		near = nearQuestion
	}
	for i, row := range all {
		if row.ID == 0 || row.Kind == Placeholder || !row.NeedsRepair() || pl.models.gaveUp(row) {
			continue
		}
		written := asked && row.Kind == Rollup && slices.Contains(row.Sources, 0) // its children's texts suffice
		if row.AwaitsModel || i < near && row.Kind == Leaf || written {
			rows = append(rows, row)
		}
	}
	return rows
}

// planRepair plans a repair of the newest repairable row. A row that a prepared one will replace is
// skipped. A repair that makes the view larger is limited to the free room; one that does not may
// always run.
func (pl *planner) planRepair(s view, used int) *job {
	now := pl.at
	for _, row := range pl.repairable(s) {
		if now.Before(pl.retries.repairs[row.ID].retryAt) || overlaps(pl.now.prepared(), row) || pl.isSpared(row.Span) {
			continue
		}
		if j := pl.repairOf(row, s, used, false); j != nil {
			return j
		}
	}
	return nil
}

// repairOf returns a job that replaces row; nil if there is no room for its text. fills: the
// extractive summarizer fills a placeholder.
func (pl *planner) repairOf(row Summary, s view, used int, fills bool) *job {
	p := pl.policy
	j := pl.newJob(OnRepair, Leaf, 0, fills)
	j.repaired = row
	j.row.Level = row.Level
	j.row.Span = row.Span
	j.row.FromTime = row.FromTime
	j.row.ToTime = row.ToTime
	j.row.Messages = row.Messages
	j.row.Focus = cmp.Or(row.Focus, j.row.Focus)
	if row.IsRollup() {
		j.row.Kind = Rollup
		j.row.Children = row.Children
		j.children = []Summary{row}
	}
	if row.From < s.Head.Start && !s.Past.Shows(row.ID) {
		return j // it takes no room
	}
	j.maxTokens = pl.meter.room(used, p) + row.Tokens - headingCost
	if row.Kind != Placeholder {
		j.maxTokens = max(j.maxTokens, tokens.Estimate(row.Text))
	}
	// A placeholder gets less text rather than forcing a fold of what a model wrote.
	if left := p.stackBudget(pl.meter.budget()) - s.StackCost() + row.Tokens - headingCost; fills && left >= transcript.MinSummary {
		j.maxTokens = min(j.maxTokens, left)
	}
	if j.maxTokens < transcript.MinSummary {
		return nil
	}
	return j
}

// narrowed returns a function that returns the row that j makes. It limits a model's repair of
// messages to what one request can contain.
func (pl *planner) narrowed(j *job, records Records) func(context.Context) (Summary, error) {
	if j.repaired.ID == 0 || j.extractive() || j.row.Kind != Leaf {
		row := j.row
		return func(context.Context) (Summary, error) { return row, nil }
	}
	a := pl.assignment(j)
	return func(ctx context.Context) (Summary, error) { return pl.models.by.Narrow(ctx, a, records.Span) }
}
