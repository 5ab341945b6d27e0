package channel

import (
	"context"
	"errors"

	"cairn/compactor"
	"cairn/memory"
)

// change has the owner show messages again that people edited or deleted.
func (c *conversation) change(seqs ...int64) {
	c.mu.Lock()
	c.changes = append(c.changes, seqs...)
	c.mu.Unlock()
	c.wake()
}

// deleted is change for messages that were deleted. What the running turn has found of
// them is shown as it was written, see finish.
func (c *conversation) deleted(seqs []int64) {
	c.mu.Lock()
	c.deletedDuringTurn = true
	c.mu.Unlock()
	c.change(seqs...)
}

// lost reports whether anything was deleted since the turn began.
func (c *conversation) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deletedDuringTurn
}

// takeChanges brings edits, deletions and settings into the engine.
func (c *conversation) takeChanges(ctx context.Context) (err error) {
	c.do(func(*compactor.Compactor) {
		if err = c.apply(ctx); err == nil {
			err = c.resettle(ctx)
		}
	})
	return err
}

// apply brings edits and deletions into the history. It is the loop's.
func (c *conversation) apply(ctx context.Context) error {
	c.mu.Lock()
	changes, parent := c.changes, c.parent
	c.changes, c.parent = nil, false
	c.mu.Unlock()
	if c.grown(); parent {
		c.engine.Changed(nil, nil)
		changes = append(changes, c.engine.History().Quoting()...)
	}
	err := c.refresh(ctx, changes)
	if err == nil && (parent || len(changes) > 0) {
		c.engine.Check(ctx) // summaries of them are to be repaired, though nobody may speak
	}
	return err
}

// refresh shows messages as they are on disk. With an error, those that are left are
// shown later.
func (c *conversation) refresh(ctx context.Context, seqs []int64) error {
	var edited []compactor.Message
	var gone []int64
	defer func() {
		if len(edited)+len(gone) > 0 {
			c.engine.Changed(edited, gone)
		}
	}()
	for i, seq := range seqs {
		m, err := c.records.Message(ctx, seq)
		switch {
		case errors.Is(err, memory.ErrNotFound):
			gone = append(gone, seq)
		case err != nil:
			c.mu.Lock()
			c.changes = append(seqs[i:len(seqs):len(seqs)], c.changes...)
			c.mu.Unlock()
			return err
		default:
			edited = append(edited, m)
		}
	}
	return nil
}

// reading begins or ends a time in which what people edit or delete may be missing
// from what the connector is reading; it returns what they did since it was called last.
func (c *conversation) reading(on bool) (late []func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = on
	late, c.late = c.late, nil
	return late
}

// meanwhile has an edit or deletion made once more if the connector is reading history:
// what it read may be the message as it was.
func (c *conversation) meanwhile(again func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads {
		c.late = append(c.late, again)
	}
}

// reread makes them once more.
func (c *conversation) reread(ctx context.Context) error {
	var errs []error
	for _, again := range c.reading(false) {
		errs = append(errs, again(ctx))
	}
	return errors.Join(errs...)
}
