// How a job starts, up to the summarizer's work.

package compactor

import (
	"cmp"
	"context"
	"slices"
)

// startJob starts a job, if Before allows it.
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
	propose := c.propose(w)
	c.o.Start(func() func() {
		focus, veto := propose()
		return func() {
			j.row.Focus = cmp.Or(focus, j.row.Focus)
			c.continueStart(w, veto)
		}
	})
}

// continueStart continues after Before has returned.
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
	narrow := c.narrowing(j)
	c.o.Start(func() func() {
		var err error
		if w.release == nil && !j.extractive {
			w.release, err = takeSlot(w.ctx, c.o.Slots)
		}
		row := j.row
		if err == nil {
			row, err = narrow(w.ctx)
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
