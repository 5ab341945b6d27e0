package compactor

import (
	"context"
	"fmt"
	"slices"
)

// land makes staged rows active and shows the new head.
func (c *Compactor) land(ctx context.Context, rows []Compaction) error {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	s := c.h.snapshot()
	head, now, err := c.o.Records.Land(ctx, ids, lastResult(s.lines, s.stored))
	if err != nil {
		return fmt.Errorf("land the summary: %w", err)
	}
	rest := c.frameCost + Reserve(c.o.MaxOutput, c.o.Window())
	before, after, _ := c.h.swap(head)
	before, after = before+rest, after+rest
	for _, row := range now {
		e := eventOf(row, EventLanded, c.o.Window())
		e.BeforeTokens, e.AfterTokens = before, after
		if row.State == Stale {
			e.State, e.Error = EventNoop, "what it summed up was summed up otherwise or changed meanwhile"
		} else if err := c.o.Records.Measured(ctx, row.ID, before, after); err != nil {
			c.o.Log.Warn("the numbers of a landing were not written", "error", err)
		}
		c.notify(e)
	}
	return nil
}

// landWithRoom lands rows, or keeps them staged if they would make the view larger
// and there is no room for that by now: usage may have risen while the worker ran.
func (c *Compactor) landWithRoom(ctx context.Context, rows []Compaction, p Policy) error {
	if c.roomFor(rows, p) {
		return c.land(ctx, rows)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.staged = append(c.staged, rows...)
	return nil
}

// roomFor tells whether rows may land: if they do not make the view larger, or
// leave it well below emergency.
func (c *Compactor) roomFor(rows []Compaction, p Policy) bool {
	s := c.h.snapshot()
	stack := s.head.Stack
	for _, row := range rows {
		stack = insert(stack, row)
	}
	growth := stackCost(stack) - stackCost(s.head.Stack)
	for _, l := range s.lines {
		if covered(rows, l.Seq) {
			growth -= l.tokens
		}
	}
	return growth <= 0 || growth <= room(c.used(s), c.o.Window(), p)
}

// room is by how many tokens a heal may grow the view: healing shall never bring
// about an emergency.
func room(used, window int, p Policy) int {
	return int(0.95*p.EmergencyThreshold*float64(window)) - used
}

// landStaged lands what is stored but not shown: because a crash or the disk came
// between, or because there was no room.
func (c *Compactor) landStaged(ctx context.Context, p Policy) {
	c.mu.Lock()
	rows := c.staged
	c.mu.Unlock()
	if len(rows) == 0 || !c.roomFor(rows, p) {
		return
	}
	if err := c.land(ctx, rows); err != nil {
		c.o.Log.Warn("a stored summary could not land yet", "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.staged = slices.DeleteFunc(slices.Clone(c.staged), func(r Compaction) bool {
		return slices.ContainsFunc(rows, func(done Compaction) bool { return done.ID == r.ID })
	})
}
