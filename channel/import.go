package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"cairn/chat"
	"cairn/compactor"
)

// Importing: all messages of a past are stored first, and searchable. Then the conversation reads them, as if they came one
// after the other, and summarizes along the way. What it has not read when the process ends it reads at the next start.

// ImportBatch is how many messages one transaction stores.
const ImportBatch = 1000

// Import adds earlier messages to a conversation, in the given order, without answering them, and waits until they are
// summarized. Messages with known ids are skipped. It returns how many were new. If it ends early, what is stored is
// summarized when the conversation is opened next, and the same import stores the rest. store.ErrLive: people have already
// talked to the bot there. store.ErrOtherMessage: a known id names another message; nothing was imported.
func (h *Hub) Import(ctx context.Context, name string, past []Inbound, progress func(ImportProgress)) (imported int, err error) {
	if _, known := h.connectors[connectorOf(name)]; !known {
		return 0, fmt.Errorf("no connector is open for %q", name)
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err == nil {
		err = records.Past().CheckIDs(ctx, past)
	}
	if err != nil {
		return 0, err
	}
	now := ImportProgress{Total: len(past)}
	for batch := range slices.Chunk(past, ImportBatch) {
		fresh, err := records.Past().ImportUnread(ctx, batch)
		if err != nil {
			return imported, err
		}
		imported += fresh
		now.Stored += len(batch)
		progress(now)
	}
	now.Unread, err = records.Past().Unread(ctx)
	if err != nil {
		return imported, err
	}
	progress(now)
	c, err := h.use(ctx, name)
	if err != nil {
		return imported, err
	}
	defer h.release(c)
	report := func(left int) {
		now.Unread = left
		progress(now)
	}
	c.imports.onRead.Store(&report)
	defer c.imports.onRead.Store(nil)
	c.readStored()
	return imported, c.until(ctx, c.importRead)
}

// readStored has the conversation read what an import has stored.
func (c *conversation) readStored() {
	c.imports.unread.Store(true)
	c.wake()
}

// importRead reports whether what an import has stored is read and summarized, or what prevents it now. Only the loop calls it.
func (c *conversation) importRead() (bool, error) {
	done, err := c.workDone()
	return done && err == nil && c.engine != nil && !summarizes(c.engine), err
}

// ImportProgress is how far an import is.
type ImportProgress struct {
	Total  int // messages to import
	Stored int // of these: stored and searchable
	Unread int // messages of the conversation that are stored and not summarized yet, once all are stored
}

// errAnswerDue interrupts the reading of an import until the message that waits has its answer.
var errAnswerDue = errors.New("a message waits for an answer")

// importReader has a conversation read the messages that an import has stored. Only the child calls its methods.
type importReader struct {
	*site
	loop     *loop
	arrivals *arrivals

	patient bool // messages have to wait until all is read

	// Any goroutine may set these.
	unread atomic.Bool                    // there may be messages that the engine has not read
	onRead atomic.Pointer[func(left int)] // receives how many messages are not read yet; nil: nobody waits
}

// listens reports whether somebody may ask something meanwhile: the connector is open.
func (r *importReader) listens() bool { return r.connector != nil }

// answerDue reports whether a message waits for an answer that need not wait for a new session.
func (r *importReader) answerDue(ctx context.Context) (bool, error) {
	if !r.listens() || r.patient {
		return false, nil
	}
	due, err := r.records.Inbox().Due(ctx)
	return due.Addressed && !due.Session, err
}

// interrupted returns errAnswerDue if somebody waits for an answer; resume: perhaps of a turn that is open.
func (r *importReader) interrupted(ctx context.Context, resume bool) error {
	due, err := r.answerDue(ctx)
	if err == nil && !due && resume && r.listens() {
		_, due, err = r.records.Turns().Unanswered(ctx)
	}
	if err == nil && due {
		err = errAnswerDue
	}
	return err
}

// read reads the messages that an import has stored, batch by batch. Nothing is truncated, however many there are: it
// waits for the summaries, also through pauses after a failure. It ends with errAnswerDue when a message needs an answer, and
// goes on from there when it is called again. resume: a turn may be open.
func (r *importReader) read(ctx context.Context, w *window, resume bool) error {
	left, err := r.records.Past().Unread(ctx)
	if err != nil || left == 0 {
		return err
	}
	if err := r.interrupted(ctx, resume); err != nil {
		return err
	}
	from, err := r.records.Past().UnreadFrom(ctx)
	if err != nil {
		return err
	}
	r.log.Info("import_reading", "messages", left)
	feed := compactor.Feed[chat.Message]{
		Do:       r.loop.do,
		Window:   func() int { return w.lookUp(ctx) },
		WaitIdle: func() error { return r.untilIdle(ctx) },
		Write: func(batch []chat.Message) ([]chat.Message, error) {
			if len(batch) == 0 {
				return nil, nil
			}
			return r.readBatch(ctx, batch)
		},
	}
	more := true
	for more {
		page, err := r.records.Transcript().Page(ctx, from, compactor.FeedBatch)
		if err != nil {
			return err
		}
		for _, m := range page {
			if err := feed.Add(m, m.Tokens+2); err != nil {
				return err
			}
		}
		if len(page) > 0 {
			from = page[len(page)-1].Seq + 1
			continue
		}
		if err := feed.Flush(); err != nil {
			return err
		}
		more, err = r.records.Past().EndRead(ctx, from) // the last ones may have been deleted, or the import goes on
		if err != nil {
			return err
		}
	}
	return nil
}

// readBatch marks messages as read and returns them as they are now. If the engine shows messages since the import, it takes
// the batch from the disk, because the engine adds only at the end.
func (r *importReader) readBatch(ctx context.Context, batch []chat.Message) (read []chat.Message, err error) {
	last := batch[len(batch)-1].Seq
	read, err = r.records.Past().ReadTo(ctx, batch[0].Seq, last)
	if err != nil {
		return nil, err
	}
	r.loop.do(func(e *compactor.Compactor) {
		if e.View().Next > last {
			err = e.Changed(ctx)
		}
	})
	return read, err
}

// untilIdle waits until no summary is being written or due. errAnswerDue: a message needs an answer before that. It reports how many
// messages of the import are left.
func (r *importReader) untilIdle(ctx context.Context) error {
	left, err := r.records.Past().Unread(ctx)
	if err != nil {
		return err
	}
	r.loop.check()
	if report := r.onRead.Load(); report != nil {
		(*report)(left)
	}
	if err := r.interrupted(ctx, false); err != nil {
		return err
	}
	listens := r.listens() && !r.patient
	return r.loop.until(ctx, func() (bool, error) {
		switch {
		case r.loop.runs.broken:
			return false, errPanicked
		case listens && r.arrivals.awaited != "":
			return false, errAnswerDue
		}
		return !summarizes(r.loop.engine), nil
	})
}

// summarizes reports whether a summary is being written, or is due and waits after a failure.
func summarizes(e *compactor.Compactor) bool { return e.Busy() || e.StatusReader()().BackingOff }

// What the child does with an import, and with what people ask meanwhile.

// readImport reads the messages that an import has stored, if there are any. It interrupts the reading to answer a new question
// immediately, from what it has read and the messages since; nobody waits for a summary. resume: a turn may be open.
func (c *conversation) readImport(ctx context.Context, resume bool) error {
	for c.imports.unread.Swap(false) {
		err := c.imports.read(ctx, c.window, resume)
		if errors.Is(err, errAnswerDue) {
			c.imports.unread.Store(true)
			err = c.answerFirst(ctx, resume)
			resume = false
		}
		if err != nil {
			c.imports.unread.Store(true)
			return err
		}
	}
	return nil
}

// answerFirst answers the waiting messages before the rest of the import is read. What cannot be answered yet waits for the whole import.
func (c *conversation) answerFirst(ctx context.Context, resume bool) error {
	awaited := ""
	c.do(func(*compactor.Compactor) { awaited = c.arrivals.awaited })
	err := c.sync(ctx, resume)
	due := true
	more := true
	for due && more && err == nil && ctx.Err() == nil {
		due, err = c.imports.answerDue(ctx)
		if due && err == nil {
			more, err = c.step(ctx)
		}
	}
	if err == nil {
		c.imports.patient, err = c.imports.answerDue(ctx)
	}
	c.do(func(*compactor.Compactor) { c.arrivals.answered(awaited) })
	return cmp.Or(err, ctx.Err())
}
