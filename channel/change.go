package channel

import (
	"context"
	"errors"

	"cairn/memory"
)

// change has the owner show messages anew that people edited or deleted.
func (c *conversation) change(seqs ...int64) {
	c.mu.Lock()
	c.changes = append(c.changes, seqs...)
	c.mu.Unlock()
	c.wake()
}

// apply brings edits and deletions into the history.
func (c *conversation) apply(ctx context.Context) error {
	c.mu.Lock()
	changes := c.changes
	c.changes = nil
	c.mu.Unlock()
	for i, seq := range changes {
		m, err := c.records.Message(ctx, seq)
		switch {
		case errors.Is(err, memory.ErrNotFound):
			c.engine.Deleted([]int64{seq})
		case err != nil:
			c.mu.Lock()
			c.changes = append(changes[i:len(changes):len(changes)], c.changes...)
			c.mu.Unlock()
			return err
		default:
			c.engine.Edited(m)
		}
	}
	return nil
}
