// How a job starts, up to the summarizer's work.

package compactor

import (
	"cmp"
	"context"
	"slices"

	"cairn/compactor/summarize"
)

func (c *Compactor) startJob(j *job) {
	w := &work{job: j, making: j}
	w.ctx, w.cancel = context.WithCancel(c.ctx)
	if j.fills {
		c.filling = w
	} else {
		c.busy = w
	}
	if c.o.Before == nil || j.allowed {
		c.continueStart(w, nil)
		return
	}
	if j.row.Trigger == OnSelf && j.onStart != nil { // a turn waits for this answer and must not wait for Before
		j.onStart(j.event(EventStarted))
		j.onStart = nil
	}
	p := Proposal{Event: j.event(EventStarted), Tokens: j.tokens, Focus: j.row.Focus}
	p.BeforeTokens = c.used(c.h.view)
	c.o.Start(func() func() {
		focus, veto := c.before(w.ctx, p)
		return func() {
			j.row.Focus = cmp.Or(focus, j.row.Focus)
			c.continueStart(w, veto)
		}
	})
}

func (c *Compactor) continueStart(w *work, veto error) {
	if veto != nil {
		c.vetoed(w.job, veto)
		c.end(w, nil)
		return
	}
	if w.onStart != nil {
		e := w.event(EventStarted)
		e.Set = slices.DeleteFunc(slices.Clone(c.prepared), func(row Compaction) bool { return row.Trigger != OnPrepare })
		w.onStart(e)
	}
	w.before = c.used(c.h.view)
	if c.draining && w.mayWait() {
		w.cancel()
	}
	c.makeRow(w, w.job)
}

// makeRow takes a slot for a model and narrows a repair in the background, then writes j's row; the summarizer
// starts after that.
func (c *Compactor) makeRow(w *work, j *job) {
	w.making = j
	narrows := j.repaired.ID != 0 && !j.extractive && j.row.Kind == Leaf
	var reader worker
	if narrows {
		reader = c.newWorker(j, nil, summarize.MinSummary, summarize.MinSummary)
	}
	c.o.Start(func() func() {
		row := j.row
		var err error
		if w.release == nil && !j.extractive {
			w.release, err = takeSlot(w.ctx, c.o.Slots)
		}
		if err == nil && narrows {
			row, err = c.narrow(w.ctx, reader)
		}
		return func() {
			j.row = row
			c.write(w, j, err)
		}
	})
}

// takeSlot waits for a worker's slot and returns the function that frees it.
func takeSlot(ctx context.Context, slots chan struct{}) (release func(), err error) {
	if slots == nil {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
