package compactor

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"cairn/transcript"
)

// Applying invalidates the provider's prompt cache, so prepared summaries wait until a level is
// reached or the cache is cold anyway. Then only as many are applied, oldest first, as the level
// demands: the messages of the others stay verbatim.

// demand says what to apply in addition to urgent rows.
type demand struct {
	share    float64 // about this share of the verbatim tokens; 1: everything prepared
	along    bool    // also repairs and rollups, which hide no message
	crowding bool    // even if the stack outgrows its budget
}

// applied returns the share of the verbatim tokens that leaves at a level by applying prepared
// rows.
func (p Policy) applied(l level) float64 {
	switch {
	case l == levelNone:
		return 0
	case p.Economy:
		return 1
	}
	return p.fraction(l)
}

// applyDue applies urgent rows, and prepared rows as far as the current level demands. It records
// in tokenDeficit what the level demands beyond that, unless it is less than half of what is
// prepared in one piece: then what has left is nearer to the demand than one more span would be.
func (c *Compactor) applyDue(ctx context.Context) {
	s := c.view
	p := c.meter.policy()
	l := c.meter.level(c.view)
	prepared := c.view.prepared()
	if len(prepared) == 0 || l == levelNone && !slices.ContainsFunc(prepared, c.planner(p).urgent) {
		return
	}
	ahead := slices.ContainsFunc(prepared, func(row Summary) bool { return row.Trigger == OnPrepare })
	if c.apply(ctx, demand{}) && ahead && l != levelNone && len(c.view.prepared()) == 0 {
		_, left := transcript.Uncovered(s.Messages, c.view.Head.Stack)
		missing := int(p.fraction(l)*float64(s.MessageCost)) - left
		if missing > p.spanTokens(c.meter.budget())/2 {
			c.tokenDeficit = missing
		}
	}
}

// applyCold applies what the background level would if the provider's cache is cold, because the
// model has not been called for a while. Below the prepare threshold no room is needed.
func (c *Compactor) applyCold(ctx context.Context) {
	p := c.meter.policy()
	if c.o.Now().Sub(c.lastRequest.at) < p.CacheTTL.Or(c.o.CacheTTL) {
		return
	}
	d := demand{along: true}
	if used := c.meter.used(c.view); p.Enabled && (p.Economy || float64(used) >= p.Prepare()*float64(c.o.Window())) {
		d.share = p.applied(background)
	}
	c.apply(ctx, d)
}

// urgent reports whether a prepared row must not wait: a person or a level requested it, it restores
// hidden content, the stack is too large without it, or nothing is prepared ahead.
func (pl *planner) urgent(row Summary) bool {
	hidden := func(r Summary) bool { return r.Kind == Placeholder && r.Overlaps(row.Span) }
	switch {
	case slices.ContainsFunc(pl.now.Head.Rows(), hidden):
		return true
	case row.Trigger == OnPrepare:
		return false
	case row.Trigger != OnRepair && row.Trigger != OnRollup:
		return true
	}
	p := pl.policy
	mayWait := p.Prepare() > 0 && p.Enabled
	return !mayWait || row.Trigger == OnRollup && pl.now.StackCost() > p.stackBudget(pl.meter.budget())
}

func (pl *planner) due(d demand) []Summary {
	s := pl.now
	prepared := pl.now.prepared()
	if l := pl.meter.level(pl.now); l != levelNone {
		d.share = max(d.share, pl.policy.applied(l))
		d.along = true
	}
	rows := s.chosen(prepared, d, pl.urgent)
	switch {
	case d.crowding || !pl.waitsForFold(s.with(rows)):
		return rows
	case !pl.waitsForFold(s.with(prepared)): // rollups of newer rows make room
		return prepared
	}
	return nil
}

// chosen returns the urgent rows; all prepared rows older than one of them; and of the other
// prepared rows the oldest, at least one, as many as come nearest to the share of the verbatim
// tokens. Repairs and rollups come along if d asks for it or the head changes anyway.
func (s view) chosen(prepared []Summary, d demand, urgent func(Summary) bool) []Summary {
	if d.share >= 1 {
		return prepared
	}
	var ahead []Summary
	var reach int64 // prepared rows up to this seq are chosen
	for _, row := range prepared {
		if row.Trigger == OnPrepare {
			ahead = append(ahead, row)
		}
		if urgent(row) {
			d.along = true
			if row.Kind == Leaf && row.Trigger != OnRepair {
				reach = max(reach, row.From)
			}
		}
	}
	slices.SortFunc(ahead, func(a, b Summary) int { return cmp.Compare(a.From, b.From) })
	need := d.share * float64(s.MessageCost)
	for i, row := range ahead {
		cost := float64(transcript.CostOf(s.Messages[s.IndexOf(row.From):s.IndexOf(row.To+1)]))
		if need <= 0 || i > 0 && need < cost/2 {
			break
		}
		reach = max(reach, row.From)
		need -= cost
	}
	return leaveOut(prepared, func(row Summary) bool {
		if row.Trigger == OnPrepare {
			return row.From > reach
		}
		return !d.along
	})
}

// apply applies what is due, as far as there is room: usage may have risen while the worker ran. It
// repeats while a level is reached and something is applied, and reports whether anything was.
func (c *Compactor) apply(ctx context.Context, d demand) (applied bool) {
	for {
		waiting := len(c.view.prepared())
		c.commitPrepared(ctx, c.planner(c.meter.policy()).due(d))
		if len(c.view.prepared()) == waiting {
			return applied
		}
		applied = true
		d = demand{}
	}
}

func (c *Compactor) commitPrepared(ctx context.Context, rows []Summary) {
	pl := c.planner(c.meter.policy())
	if !pl.roomFor(rows) {
		rows = leaveOut(rows, func(row Summary) bool { return row.Trigger == OnRepair }) // a repair may make the view larger
	}
	if len(rows) == 0 || !pl.roomFor(rows) {
		return
	}
	used := c.meter.used(c.view)
	prepared := c.view.prepared()
	ids := transcript.IDs(rows)
	change, err := c.commit(ctx, func(s *transcript.State) (change transcript.Change, err error) {
		change, _, _ = s.Cover(ids, c.view.LastResult(c.view.stored()), func(sp Span) transcript.Stretch {
			n, failed := c.o.Records.Stretch(ctx, sp)
			err = cmp.Or(err, failed)
			return n
		})
		return change, err
	})
	if err == nil {
		c.reportEnded(ctx, asIn(change.Summaries, prepared), used)
	} else if ctx.Err() == nil && !errors.Is(err, transcript.ErrStale) { // the next check tries again
		c.o.Log.Warn("apply_summary_failed", "error", err)
	}
}

// asIn returns those of the changed rows that were prepared, in the order of those.
func asIn(changed, prepared []Summary) (found []Summary) {
	for _, row := range prepared {
		if i := slices.Index(transcript.IDs(changed), row.ID); i >= 0 {
			found = append(found, changed[i])
		}
	}
	return found
}

// reportEnded emits events for summaries that were prepared and are applied or stale now.
// before is the tokens used before.
func (c *Compactor) reportEnded(ctx context.Context, ended []Summary, before int) {
	applied := slices.DeleteFunc(slices.Clone(ended), func(row Summary) bool { return row.State == Stale })
	slices.SortFunc(applied, func(a, b Summary) int { return cmp.Compare(a.From, b.From) })
	if slices.ContainsFunc(applied, func(row Summary) bool {
		return row.Kind == Leaf && row.Trigger != OnRepair && row.From >= c.view.Head.Start
	}) {
		c.view.addressed = c.view.Open != 0 // no model is paid for again until the bot is addressed
	}
	for _, row := range ended {
		e := c.reports.event(row, EventApplied)
		e.Set = applied
		e.BeforeTokens = before
		e.AfterTokens = c.meter.used(c.view)
		if row.State == Stale {
			e.State = EventNoop
			e.Error = reasonStale
		} else if err := c.o.Records.Measured(ctx, row.ID, before, e.AfterTokens); err != nil {
			c.o.Log.Warn("save_compaction_numbers_failed", "error", err)
		}
		c.notify(e)
	}
}

// leaveOut returns the rows without those that match, and without their folds.
func leaveOut(rows []Summary, which func(Summary) bool) (kept []Summary) {
	var out []int64
	for _, row := range rows {
		if which(row) || slices.ContainsFunc(row.Children, func(id int64) bool { return slices.Contains(out, id) }) {
			out = append(out, row.ID)
		} else {
			kept = append(kept, row)
		}
	}
	return kept
}

// crowded reports whether applying rows, which leads to the view next, takes the stack over its
// budget: the rows may wait until others are folded. A summary and its folds are prepared together,
// but the process may end between them.
func (pl *planner) crowded(next view) bool {
	budget := pl.policy.stackBudget(pl.meter.budget())
	return next.StackCost() > budget && pl.now.StackCost() <= budget
}

// waitsForFold reports whether the rows that lead to the view next must wait for a fold.
func (pl *planner) waitsForFold(next view) bool {
	return pl.crowded(next) && planFold(next, pl.inWork, pl.policy.RollupFanIn, true) != nil
}

// roomFor reports whether rows may be applied: they do not make the view larger, or leave it well
// below emergency.
func (pl *planner) roomFor(rows []Summary) bool {
	s := pl.now
	next := s.with(rows)
	growth := next.StackCost() + next.MessageCost - s.StackCost() - s.MessageCost
	return growth <= 0 || growth <= pl.meter.room(pl.meter.used(s), pl.policy)
}
