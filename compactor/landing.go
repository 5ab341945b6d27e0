package compactor

import (
	"context"
	"fmt"
	"slices"
)

// land makes staged rows active and shows the new head. It returns the ids of those
// that are staged no longer.
func (c *Compactor) land(ctx context.Context, rows []Compaction) (done []int64, err error) {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	s := c.h.snapshot()
	head, now, err := c.o.Records.Land(ctx, ids, lastResult(s.lines, s.stored))
	if err != nil {
		return nil, fmt.Errorf("land the summary: %w", err)
	}
	now = slices.DeleteFunc(now, func(row Compaction) bool { return row.State == Staged })
	old, swapped, _ := c.h.swap(head)
	before, after := c.used(old), c.used(swapped)
	if slices.ContainsFunc(now, func(row Compaction) bool {
		return row.Kind == Leaf && row.Trigger != OnHeal && row.State != Stale && row.From >= head.Start
	}) {
		c.h.quiet()
	}
	for _, row := range now {
		done = append(done, row.ID)
		e := eventOf(row, EventLanded, c.o.Window())
		e.BeforeTokens, e.AfterTokens = before, after
		if row.State == Stale {
			e.State, e.Error = EventNoop, "what it summed up was summed up otherwise or changed meanwhile"
		} else if err := c.o.Records.Measured(ctx, row.ID, before, after); err != nil {
			c.o.Log.Warn("the numbers of a landing were not written", "error", err)
		}
		c.notify(e)
	}
	return done, nil
}

// Landing throws away the provider's prompt cache. So what was made ahead waits,
// staged, until the cache is cold anyway or a level is reached; then all of it lands
// at once.

// ahead is the view as it will be when everything staged has landed: plans are made
// on it, so that nothing is summed up twice.
func (c *Compactor) ahead(s snapshot) snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aheadLocked(s)
}

func (c *Compactor) aheadLocked(s snapshot) snapshot { return s.with(c.staged) }

// with is the view once rows have landed.
func (s snapshot) with(rows []Compaction) snapshot {
	if len(rows) == 0 {
		return s
	}
	for _, row := range rows {
		s.head = s.head.with(row)
	}
	s = s.withNewHead()
	s.past = s.head.past(s.shape)
	lines := s.lines
	s.lines, s.lineCost = make([]line, 0, len(lines)), 0
	for _, l := range lines {
		if !covered(rows, l.Seq) {
			s.lines = append(s.lines, l)
			s.lineCost += l.tokens
		}
	}
	return s
}

// landDue lands what is staged if a level is reached, or if it must not wait. What
// a level demands beyond that is left to the worker.
func (c *Compactor) landDue(ctx context.Context, p Policy, window int) {
	s := c.h.snapshot()
	rows := c.waiting()
	l := levelOf(c.used(s), window, p)
	if len(rows) == 0 || l == calm && !slices.ContainsFunc(rows, func(row Compaction) bool { return s.urgent(row, p, c.Budget()) }) {
		return
	}
	ahead := slices.ContainsFunc(rows, func(row Compaction) bool { return row.Trigger == OnPrepare })
	if !c.landAll(ctx) || l == calm || !ahead {
		return
	}
	left := 0
	for _, line := range without(s.lines, c.h.snapshot().head.Stack) {
		left += line.tokens
	}
	c.owe(max(int(p.fraction(l)*float64(s.lineCost))-(s.lineCost-left), 0))
}

// owe notes how many tokens a level demands beside what has landed.
func (c *Compactor) owe(tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed = tokens
}

// landCold lands what is staged if the provider has forgotten its cache by now:
// nobody asked it anything for a while.
func (c *Compactor) landCold(ctx context.Context, p Policy) {
	if c.o.Now().Sub(c.askedAt) >= p.CacheTTL.Or(c.o.CacheTTL) {
		c.landAll(ctx)
	}
}

// urgent tells whether a staged row must not wait: somebody or a level asked for it,
// or it brings back what is hidden, or the stack is too large without it.
func (s snapshot) urgent(row Compaction, p Policy, budget int) bool {
	for _, m := range s.head.rows() {
		if m.Kind == Marker && m.From <= row.To && row.From <= m.To {
			return true
		}
	}
	switch row.Trigger {
	case OnPrepare, OnHeal:
		return p.Prepare() == 0 || !p.Enabled
	case OnRollup:
		return p.Prepare() == 0 || !p.Enabled || s.head.stackCost(s.shape) > p.stackBudget(budget)
	}
	return true
}

// waiting are the rows that are stored and not shown.
func (c *Compactor) waiting() []Compaction {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.staged)
}

// landAll lands what is staged, as far as there is room, unless it waits for a fold.
// It tells whether anything landed.
func (c *Compactor) landAll(ctx context.Context) bool {
	s, p := c.h.snapshot(), c.o.Policy()
	if then, crowded := s.crowded(c.waiting(), p, c.Budget()); crowded && planFold(then, p.RollupFanIn, true) != nil {
		return false
	}
	return c.landNow(ctx)
}

// crowded tells whether rows may land only when others are folded, for the stack outgrows its
// budget by them, and what the view is then. A summary and its folds are made at once,
// but a process may end between them.
func (s snapshot) crowded(rows []Compaction, p Policy, budget int) (then snapshot, crowded bool) {
	then = s.with(rows)
	most := p.stackBudget(budget)
	return then, len(rows) > 0 && then.head.stackCost(s.shape) > most && s.head.stackCost(s.shape) <= most
}

// landNow lands what is staged, as far as there is room: usage may have risen while
// the worker ran. It tells whether anything landed. If somebody is landing just now,
// they land what has come meanwhile too.
func (c *Compactor) landNow(ctx context.Context) (landed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.again = true; c.landing {
		return false
	}
	c.landing = true
	for c.again {
		c.again = false
		rows := slices.Clone(c.staged)
		c.mu.Unlock()
		done := c.landThese(ctx, rows)
		c.mu.Lock()
		c.staged = slices.DeleteFunc(slices.Clone(c.staged), func(r Compaction) bool { return slices.Contains(done, r.ID) })
		landed = landed || len(done) > 0
	}
	c.landing = false
	return landed
}

// sweep gives up what is staged and has become stale, because people edited or deleted
// what it read: nothing more shall be made of it.
func (c *Compactor) sweep(ctx context.Context) {
	var ids []int64
	for _, row := range c.waiting() {
		ids = append(ids, row.ID)
	}
	if len(ids) == 0 {
		return
	}
	stale, err := c.o.Records.Stale(ctx, ids)
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn("it is not known yet which summaries are stale", "error", err)
	}
	if len(stale) == 0 {
		return
	}
	c.mu.Lock()
	rows := slices.DeleteFunc(slices.Clone(c.staged), func(row Compaction) bool { return !slices.Contains(stale, row.ID) })
	if c.landing || len(rows) == 0 { // who is landing finds them too
		c.mu.Unlock()
		return
	}
	c.landing, c.again = true, false
	c.mu.Unlock()
	done, err := c.land(ctx, rows) // none of them lands: they are told of and gone
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn("stale summaries are given up later", "error", err)
	}
	c.mu.Lock()
	c.staged = slices.DeleteFunc(slices.Clone(c.staged), func(r Compaction) bool { return slices.Contains(done, r.ID) })
	c.landing = false
	again := c.again
	c.mu.Unlock()
	if again { // somebody wanted to land meanwhile
		c.landNow(ctx)
	}
}

// landThese lands those of the rows that may land, and returns the ids of all that
// are staged no longer.
func (c *Compactor) landThese(ctx context.Context, rows []Compaction) (done []int64) {
	s, p := c.h.snapshot(), c.o.Policy()
	rows = s.inOrder(rows)
	if !c.roomFor(s, rows, p) {
		rows = shrinking(rows)
	}
	if len(rows) == 0 || !c.roomFor(s, rows, p) {
		return nil
	}
	done, err := c.land(ctx, rows)
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn("a stored summary could not land yet", "error", err)
	}
	return done
}

// inOrder leaves out what would hide messages while older ones stay verbatim: an undo
// has set them free, or they were edited, and the view is in order. What hides
// nothing new may always land.
func (s snapshot) inOrder(rows []Compaction) []Compaction {
	i := slices.IndexFunc(s.lines, func(l line) bool { return !covered(rows, l.Seq) })
	if i < 0 {
		return rows
	}
	newer := s.lines[i+1:]
	return leaveOut(rows, func(row Compaction) bool {
		return slices.ContainsFunc(newer, func(l line) bool { return row.Covers(l.Seq) })
	})
}

// shrinking leaves out what heals, which may make the view larger.
func shrinking(rows []Compaction) []Compaction {
	return leaveOut(rows, func(row Compaction) bool { return row.Trigger == OnHeal })
}

// leaveOut returns the rows without some of them, and without the folds of those.
func leaveOut(rows []Compaction, which func(Compaction) bool) (kept []Compaction) {
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

// roomFor tells whether rows may land: if they do not make the view larger, or
// leave it well below emergency.
func (c *Compactor) roomFor(s snapshot, rows []Compaction, p Policy) bool {
	then := s.with(rows)
	growth := then.head.stackCost(s.shape) + then.lineCost - s.head.stackCost(s.shape) - s.lineCost
	return growth <= 0 || growth <= c.room(c.used(s), c.o.Window(), p)
}

// room is by how many estimated tokens a heal may grow the view: healing shall never
// bring about an emergency.
func (c *Compactor) room(used, window int, p Policy) int {
	return c.estimated(int(0.95*p.EmergencyThreshold*float64(window)) - used)
}
