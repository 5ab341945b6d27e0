// How a job starts, up to the summarizer's work.

package compactor

import (
	"cmp"
	"context"
	"slices"
)

// begin starts a job, if Before allows it.
func (c *Compactor) begin(j *job) {
	w := &work{job: j, making: j}
	w.ctx, w.cancel = context.WithCancel(c.ctx)
	if j.fills {
		c.filling = w
	} else {
		c.busy = w
	}
	if c.o.Before == nil || j.allowed {
		c.decided(w, nil)
		return
	}
	if j.row.Trigger == OnSelf && j.began != nil { // a turn waits for this answer and must not wait for Before
		j.began(j.event(EventStarted))
		j.began = nil
	}
	propose := c.propose(w)
	c.o.Start(func() func() {
		focus, veto := propose()
		return func() {
			j.row.Focus = cmp.Or(focus, j.row.Focus)
			c.decided(w, veto)
		}
	})
}

// decided continues after Before has returned.
func (c *Compactor) decided(w *work, veto error) {
	if veto != nil {
		c.forbidden(w.job, veto)
		c.end(w, nil)
		return
	}
	if w.began != nil {
		e := w.event(EventStarted)
		e.Set = slices.DeleteFunc(slices.Clone(c.prepared), func(row Compaction) bool { return row.Trigger != OnPrepare })
		w.began(e)
	}
	w.before = c.used(c.h.view)
	if c.draining && w.mayWait() {
		w.cancel()
	}
	c.make(w, w.job)
}

// make takes a slot and narrows a repair in the background, then writes j's row; the summarizer
// starts after that.
func (c *Compactor) make(w *work, j *job) {
	w.making = j
	narrow := c.narrowing(j)
	c.o.Start(func() func() {
		var err error
		if w.release == nil && !w.fills {
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
