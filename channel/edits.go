package channel

import (
	"context"
	"errors"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/memory"
)

// What people edit or delete is on disk at once; the loop brings it into the prompt, also
// during a turn.

// edits is what the loop knows of edits and deletions.
type edits struct {
	seqs []int64 // of messages that the disk did not let it read again yet

	// What people did while the connector reads history, which may have the messages as
	// they were; nil: it reads none.
	during []func(context.Context) error
}

// changed shows messages again that people edited or deleted.
func (c *conversation) changed(seqs ...int64) {
	c.edits.seqs = append(c.edits.seqs, seqs...)
	if c.engine == nil || c.refresh(c.hub.ctx) != nil {
		c.runs.again = true // the child tries again, and reports why it cannot
	}
}

// deleted is changed for messages that were deleted. What the running turn has found of
// them is shown as it was written, see written.
func (c *conversation) deleted(seqs []int64) {
	if turn := c.turn.Load(); turn != nil {
		turn.lost = true
	}
	c.changed(seqs...)
}

// applyEdits shows what could not be read before.
func (c *conversation) applyEdits(ctx context.Context) (err error) {
	c.do(func(*compactor.Compactor) { err = c.refresh(ctx) })
	return err
}

// refresh shows messages as they are on disk, and has summaries of them repaired, though
// nobody may speak. With an error, those that are left are shown later. It is the loop's.
func (c *conversation) refresh(ctx context.Context) error {
	var edited []chat.Message
	var gone []int64
	var failed error
	for len(c.edits.seqs) > 0 && failed == nil {
		m, err := c.records.Transcript().Message(ctx, c.edits.seqs[0])
		switch {
		case errors.Is(err, memory.ErrNotFound):
			gone = append(gone, c.edits.seqs[0])
		case err != nil:
			failed = err
			continue
		default:
			edited = append(edited, m)
		}
		c.edits.seqs = c.edits.seqs[1:]
	}
	if len(edited)+len(gone) > 0 {
		c.engine.Changed(edited, gone)
		c.engine.Check(ctx)
	}
	return failed
}

// parentChanged has a thread look again at what it has of its channel.
func (c *conversation) parentChanged() {
	if c.engine != nil {
		c.engine.Changed(nil, nil)
		c.changed(c.engine.History().Quoting()...)
		c.engine.Check(c.hub.ctx)
	}
}

// reading starts or ends a time in which what people edit or delete may be missing from
// what the connector is reading; it returns what they did since it was called last.
func (c *conversation) reading(on bool) (during []func(context.Context) error) {
	c.do(func(*compactor.Compactor) {
		during, c.edits.during = c.edits.during, nil
		if on {
			c.edits.during = []func(context.Context) error{}
		}
	})
	return during
}

// repeatAfterReading has an edit or deletion made once more if the connector is reading
// history: what it read may be the message as it was.
func (c *conversation) repeatAfterReading(again func(context.Context) error) {
	c.inbox.post(func() {
		if c.edits.during != nil {
			c.edits.during = append(c.edits.during, again)
		}
	})
}

// repeatEdits makes them once more.
func (c *conversation) repeatEdits(ctx context.Context) error {
	var errs []error
	for _, again := range c.reading(false) {
		errs = append(errs, again(ctx))
	}
	return errors.Join(errs...)
}

// threadsChanged has the open threads of a channel look again at what they have of it.
func (h *Hub) threadsChanged(channel string) {
	h.eachThread(channel, (*conversation).parentChanged)
}

// eachThread has the loop of each open thread of a channel run f.
func (h *Hub) eachThread(channel string, f func(*conversation)) {
	for _, c := range h.all() {
		if p := ParsePlace(c.name); p.Thread != "" && strings.TrimSuffix(c.name, "/"+p.Thread) == channel {
			c.inbox.post(func() { f(c) })
		}
		h.release(c)
	}
}
