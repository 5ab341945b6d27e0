package channel

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// Importing: all messages of a past are stored first, and searchable. Then the conversation reads them, as if they came one
// after the other, and summarizes along the way. What it has not read when the process ends it reads at the next start.

// importBatch is how many messages one transaction stores.
const importBatch = 1000

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
	for batch := range slices.Chunk(past, importBatch) {
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
	c.importUnread.Store(true)
	c.inbox.post(func() { c.runs.onImportRead = func(n int) { now.Unread = n; progress(now) } })
	defer c.inbox.post(func() { c.runs.onImportRead = nil })
	c.wake()
	return imported, c.until(ctx, func() (bool, error) {
		done, err := c.workDone()
		return done && err == nil && c.engine != nil && !c.working(), err
	})
}

// ImportProgress is how far an import is.
type ImportProgress struct {
	Total  int // messages to import
	Stored int // of these: stored and searchable
	Unread int // messages of the conversation that are stored and not summarized yet, once all are stored
}

// readImported reads the messages that an import has stored, batch by batch. Nothing is truncated, however many there are: it
// waits for the summaries, also through pauses after a failure. Messages that arrive meanwhile wait in the inbox.
func (c *conversation) readImported(ctx context.Context) error {
	left, err := c.records.Past().Unread(ctx)
	if err != nil || left == 0 {
		return err
	}
	c.log.Info("import_reading", "messages", left)
	feed := compactor.Feed[chat.Message]{
		Do:       c.do,
		Window:   func() int { return c.window.lookUp(ctx) },
		WaitIdle: func() error { return c.untilIdle(ctx) },
		Write: func(batch []chat.Message) ([]chat.Message, error) {
			if len(batch) == 0 {
				return nil, nil
			}
			return c.records.Past().ReadTo(ctx, c.next(), batch[len(batch)-1].Seq)
		},
	}
	for from := c.next(); ; {
		page, err := c.records.Transcript().Page(ctx, from, compactor.FeedBatch)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			if err := feed.Add(m, m.Tokens+2); err != nil {
				return err
			}
		}
		from = page[len(page)-1].Seq + 1
	}
	if err := feed.Flush(); err != nil {
		return err
	}
	_, err = c.records.Past().ReadTo(ctx, store.MaxSeq, store.MaxSeq) // the last ones may have been deleted
	return err
}

// untilIdle waits until no summary is being written or due, and reports how many messages of the import are left.
func (c *conversation) untilIdle(ctx context.Context) error {
	left, err := c.records.Past().Unread(ctx)
	if err != nil {
		return err
	}
	c.do(func(e *compactor.Compactor) {
		e.Check(c.hub.ctx)
		if c.runs.onImportRead != nil {
			c.runs.onImportRead(left)
		}
	})
	return c.until(ctx, func() (bool, error) {
		if c.runs.broken {
			return false, errPanicked
		}
		return !c.working(), nil
	})
}

// working reports whether a summary is being written, or is due and waits after a failure.
func (c *conversation) working() bool { return c.engine.Busy() || c.engine.StatusReader()().BackingOff }
