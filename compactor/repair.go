package compactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
)

// Repair: a model rewrites what the extractive summarizer made in its place. Rows that await a
// model are repaired even while the conversation is idle; of talk in which the bot took no part,
// only rows next to a question are worth a model.

// nearQuestion is how many of the newest rows count as next to a question.
const nearQuestion = 2

// repairable returns the rows in s that a model should summarize, newest first.
func (c *Compactor) repairable(s view) (rows []Summary) {
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
		if row.ID == 0 || row.Kind == Placeholder || !row.NeedsRepair() || c.models.gaveUp(row) {
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
func (c *Compactor) planRepair(s view, p Policy, used int, now time.Time) *job {
	for _, row := range c.repairable(s) {
		if now.Before(c.retries.repairs[row.ID].retryAt) || overlaps(c.prepared(), row) || c.isSpared(row.Span) {
			continue
		}
		if j := c.repairOf(row, s, p, used, false); j != nil {
			return j
		}
	}
	return nil
}

// maxRepairMessages is the most messages of one repair.
const maxRepairMessages = 1000

// narrowed returns a function that returns the row that j makes. It limits a model's repair of
// messages to what one request can contain: the newest whole turns of the row's span, as the worker
// reads them, with room for their summary. So a large row is repaired piece by piece, and each piece
// is kept.
func (c *Compactor) narrowed(j *job) func(context.Context) (Summary, error) {
	if j.repaired.ID == 0 || j.extractive || j.row.Kind != Leaf {
		return func(context.Context) (Summary, error) { return j.row, nil }
	}
	w := c.newWorker(j, nil, summarize.MinSummary, summarize.MinSummary)
	return func(ctx context.Context) (Summary, error) { return c.narrow(ctx, w) }
}

func (c *Compactor) narrow(ctx context.Context, w worker) (Summary, error) {
	j, row := w.j, w.j.row
	w, most := w.withModel(ctx, c.o.Worker)
	most = min(most, w.piece()) * 100 / (100 + j.policy.TargetPct) // less the summary
	from := max(row.From, row.To-maxRepairMessages)
	all, err := c.o.Records.Span(ctx, from, row.To)
	if err != nil {
		return row, fmt.Errorf("read what is repaired: %w", err)
	}
	if len(all) == 0 {
		return row, nil
	}
	if from > row.From && all[len(all)-1].Turn >= from {
		all = slices.DeleteFunc(all, func(m chat.Message) bool { return m.Turn < from })
	}
	if c.models.declineCount(j.repaired) > 0 {
		most = min(most, max(summarize.CostOfItems(summarize.ItemsOf(all, summarize.MostOfMessage))/2, minPiece))
	}
	n := len(all)
	tokens := 0
	for n > 0 {
		first := n
		for first > 0 && all[first-1].Turn == all[n-1].Turn {
			first--
		}
		turn := summarize.CostOfItems(summarize.ItemsOf(all[first:n], summarize.MostOfMessage))
		if tokens > 0 && tokens+turn > most {
			break
		}
		n = first
		tokens = tokens + turn
	}
	if n > 0 || from > row.From {
		row.From = max(row.From, all[n].Turn)
		row.FromTime = all[n].Time
		row.Messages = len(all) - n
	}
	return row, nil
}

// foldIfFull plans a fold if the stack of s exceeds its budget; nil if it does not, or nothing can be
// folded. A model folds only rows that no repair will improve, so that it reads summaries and no
// messages, and it is not paid for folding talk that was not addressed to the bot.
func (c *Compactor) foldIfFull(s view, p Policy, extractive bool) *job {
	if s.StackCost() <= p.stackBudget(c.meter.budget()) {
		return nil
	}
	if !extractive {
		only := s
		only.inWork = slices.Concat(s.inWork, slices.DeleteFunc(slices.Clone(s.Head.Stack), c.models.ready))
		if children := planFold(only, p.RollupFanIn, false); c.models.worthFolding(children) {
			return c.planRollup(children, p, false)
		}
	}
	children := planFold(s, p.RollupFanIn, true)
	if children == nil {
		children = s.tooLarge(p.entryCap(c.meter.budget(), 0))
	}
	if children != nil {
		return c.planRollup(children, p, true)
	}
	return nil
}

// fallbackWake is the interval to the next check if nothing else determines it.
const fallbackWake = 10 * time.Minute

// nextWake returns the time of the next check, when work that waits may start; zero: nothing waits.
func (c *Compactor) nextWake() (at time.Time) {
	p := c.meter.policy()
	now := c.o.Now()
	times := []time.Time{c.retries.retryAt, c.retries.vetoes[OnRepair].until}
	waits := c.models.has(p) && len(c.repairable(c.view)) > 0 || c.meter.level(c.view) != levelNone && now.Before(c.retries.retryAt)
	for _, row := range c.view.Head.Rows() {
		retryAt := c.retries.repairs[row.ID].retryAt
		times = append(times, retryAt)
		waits = waits || row.Kind == Placeholder && (now.Before(retryAt) || c.retries.forbids(OnRepair, now))
	}
	later := slices.DeleteFunc(times, func(t time.Time) bool { return !t.After(now) })
	switch {
	case c.draining || !waits:
	case len(later) > 0:
		at = slices.MinFunc(later, time.Time.Compare)
	case c.models.none(p):
		at = now.Add(fallbackWake)
	}
	return at
}

// A placeholder is filled by the extractive summarizer immediately, in parallel with a model's job:
// it needs milliseconds, while a model that hangs takes minutes. The model repairs the result
// later.

// planFill plans to fill the oldest placeholder. It skips spans whose summary was undone, and
// placeholders for whose summary there is no room.
func (c *Compactor) planFill(now time.Time) *job {
	if c.retries.forbids(OnRepair, now) {
		return nil
	}
	s := c.view
	p := c.meter.policy()
	used := c.meter.used(s)
	extractive, _ := c.models.choose(p, s.addressed, c.retries, now)
	for _, row := range s.Head.Rows() {
		filled := func(r Summary) bool { return row.Within(r.Span) } // a text that was made before the placeholder grew is too short
		waits := c.isSpared(row.Span) || now.Before(c.retries.repairs[row.ID].retryAt)
		if waits || row.ID == 0 || row.Kind != Placeholder || slices.ContainsFunc(c.prepared(), filled) {
			continue
		}
		if j := c.repairOf(row, s, p, used, true); j != nil {
			j.modelFollows = !extractive
			j.row.Declined = row.Declined
			j.row.AwaitsModel = j.row.AwaitsModel || row.AwaitsModel && c.models.has(p)
			return j
		}
	}
	return nil
}

// repairOf returns a job that replaces row; nil if there is no room for its text. fills: the
// extractive summarizer fills a placeholder.
func (c *Compactor) repairOf(row Summary, s view, p Policy, used int, fills bool) *job {
	j := c.newJob(OnRepair, Leaf, 0, p, fills)
	j.repaired = row
	j.fills = fills
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
	j.maxTokens = c.meter.room(used, p) + row.Tokens - headingCost
	if row.Kind != Placeholder {
		j.maxTokens = max(j.maxTokens, tokens.Estimate(row.Text))
	}
	// A placeholder gets less text rather than forcing a fold of what a model wrote.
	if left := p.stackBudget(c.meter.budget()) - s.StackCost() + row.Tokens - headingCost; fills && left >= summarize.MinSummary {
		j.maxTokens = min(j.maxTokens, left)
	}
	if j.maxTokens < summarize.MinSummary {
		return nil
	}
	return j
}
