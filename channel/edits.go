package channel

import (
	"context"
	"errors"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// Edits and deletions are on disk immediately; the loop applies them to the prompt, even during a
// turn.

// edits is the loop's state of edits and deletions.
type edits struct {
	seqs []int64 // of messages that could not be read again from disk yet, or are not shown yet

	reading bool             // the connector reads history, which may still have the old messages
	during  []store.Delivery // edits and deletions made since
}

// changed refreshes messages that people edited or deleted.
func (c *conversation) changed(seqs ...int64) {
	c.edits.seqs = append(c.edits.seqs, seqs...)
	if c.engine == nil || c.refresh(c.hub.ctx) != nil {
		c.runs.again = true // the child tries again, and reports why it fails
	}
}

// deleted is changed for deleted messages. What the running turn already found of them is shown as
// written, see written. A turn whose question was deleted ends.
func (c *conversation) deleted(seqs []int64) {
	if turn := c.turn.Load(); turn != nil {
		turn.sawDeletion = true
		if open, found, err := c.records.Turns().Unanswered(c.hub.ctx); err == nil && (!found || open.Seq != turn.seq) {
			turn.stop(errDeleted)
		}
	}
	c.changed(seqs...)
}

// sawDeletion reports whether something was deleted since the running turn began.
func (c *conversation) sawDeletion() bool {
	turn := c.turn.Load()
	return turn != nil && turn.sawDeletion
}

// refresh rereads messages from disk and schedules repairs of summaries over them, even if no
// further message arrives. After an error, the remaining messages are refreshed later, and those
// that the child has dequeued and not appended yet once they are. Only the loop calls it.
func (c *conversation) refresh(ctx context.Context) error {
	var edited []chat.Message
	var gone, later []int64
	var failed error
	for next := c.engine.History().Next(); len(c.edits.seqs) > 0 && failed == nil; {
		if c.edits.seqs[0] >= next {
			later, c.edits.seqs = append(later, c.edits.seqs[0]), c.edits.seqs[1:]
			continue
		}
		m, err := c.records.Transcript().Message(ctx, c.edits.seqs[0])
		switch {
		case errors.Is(err, store.ErrNotFound):
			gone = append(gone, c.edits.seqs[0])
		case err != nil:
			failed = err
			continue
		default:
			edited = append(edited, m)
		}
		c.edits.seqs = c.edits.seqs[1:]
	}
	c.edits.seqs = append(c.edits.seqs, later...)
	if len(edited)+len(gone) > 0 {
		c.engine.Changed(edited, gone)
		c.engine.Check(ctx)
	}
	return failed
}

// parentChanged makes a thread reread what it shows of its channel.
func (c *conversation) parentChanged() {
	if c.engine != nil {
		c.engine.Changed(nil, nil)
		c.changed(c.engine.History().Quoting()...)
		c.engine.Check(c.hub.ctx)
	}
}

// reading starts or ends a phase in which the connector's history may lack new edits and deletions;
// it returns those made since the last call.
func (c *conversation) reading(on bool) (during []store.Delivery) {
	c.do(func(*compactor.Compactor) { during, c.edits.during, c.edits.reading = c.edits.during, nil, on })
	return during
}

// repeatAfterReading has an edit or deletion repeated later if the connector is reading history:
// what it read may be the old message.
func (c *conversation) repeatAfterReading(d store.Delivery) {
	if c.edits.reading {
		c.edits.during = append(c.edits.during, d)
	}
}

// repeatEdits repeats the edits and deletions that were made during the reading.
func (c *conversation) repeatEdits(ctx context.Context) error {
	var errs []error
	for _, d := range c.reading(false) {
		errs = append(errs, c.change(ctx, d))
	}
	return errors.Join(errs...)
}

// threadsChanged makes the open threads of a channel reread what they show of it.
func (h *Hub) threadsChanged(channel string) { h.postThreads(channel, (*conversation).parentChanged) }
