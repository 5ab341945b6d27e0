package channel

import (
	"context"
	"fmt"
	"iter"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// Import adds earlier messages to a conversation, in the given order, without answering them. It
// compacts along the way and waits for the summaries, so that nothing is truncated. Messages with
// known ids are skipped. It returns how many were new. store.ErrLive: people have already talked to the
// bot there. store.ErrOtherMessage: a known id names another message; nothing was imported.
func (h *Hub) Import(ctx context.Context, name string, past iter.Seq2[Inbound, error], progress func(done int)) (imported int, err error) {
	connector, known := h.connectors[connectorOf(name)]
	if !known {
		return 0, fmt.Errorf("no connector is open for %q", name)
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return 0, err
	}
	c := newConversation(h, name, connector, records) // without its loop: this goroutine owns it
	open, err := c.opening(ctx)
	if err == nil {
		err = open()
	}
	if err != nil {
		return 0, err
	}
	defer func() { // cancels the summaries that are being written
		c.engine.Close()
		_ = c.summarized(context.Background())
	}()
	if c.engine.History().Next() > 1 {
		if err := checkIDs(ctx, records, past); err != nil {
			return 0, err
		}
	}
	done := 0 // messages read
	feed := compactor.Feed[Inbound]{
		Engine: c.engine,
		Window: func() int { return c.window.lookUp(ctx) },
		Write: func(batch []Inbound) ([]chat.Message, error) {
			added, err := c.records.Past().Import(ctx, batch)
			if err == nil {
				imported += len(added)
				progress(done)
			}
			return added, err
		},
		WaitIdle: func() error { return c.waitImported(ctx) },
	}
	for m, err := range past {
		if err != nil {
			return imported, err
		}
		tokens := 2 + chat.TokensOf(chat.Message{
			Role: "user", Seq: c.engine.History().Next(), Author: m.Author, Text: m.Text, Attachments: m.Attachments, ReplyTo: m.ReplyTo, Quote: m.Quote, Time: m.Time,
		})
		if err := feed.Add(m, tokens); err != nil {
			return imported, err
		}
		done++
	}
	if err := feed.Flush(); err != nil {
		return imported, err
	}
	return imported, c.summarized(ctx)
}

// checkIDs returns store.ErrOtherMessage if an id in past names another message in the conversation.
func checkIDs(ctx context.Context, records *store.Conversation, past iter.Seq2[Inbound, error]) error {
	var page []Inbound
	for m, err := range past {
		if page = append(page, m); err == nil && len(page) == idsChecked {
			err = records.Past().CheckIDs(ctx, page)
			page = page[:0]
		}
		if err != nil {
			return err
		}
	}
	return records.Past().CheckIDs(ctx, page)
}

// idsChecked is how many ids are looked up in one transaction.
const idsChecked = 1000

// summarized does the loop's work until no summary is being written.
func (c *conversation) summarized(ctx context.Context) error {
	for c.engine.Busy() {
		select {
		case <-c.inbox.signal:
			c.inbox.run(func(event func()) { event() }) // a panic ends the import
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// waitImported waits until nothing is due, also through pauses after a failure: truncating would hide the past.
func (c *conversation) waitImported(ctx context.Context) error {
	for {
		c.engine.Check(ctx)
		if err := c.summarized(ctx); err != nil {
			return err
		}
		if !c.engine.StatusReader()().BackingOff {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
