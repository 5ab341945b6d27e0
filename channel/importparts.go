package channel

import (
	"context"
	"errors"

	"cairn/store"
)

// An import in parts, by a program beside the bot: it checks all parts, stores them one after the other, and looks how far the
// conversation is. The connector need not be open. The conversation reads what is stored while more arrives.

// CheckImport returns the error that Import of these messages would return because of messages that are known.
func CheckImport(ctx context.Context, h *Hub, name string, part []Inbound) error {
	records, err := h.o.Store.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return records.Past().CheckIDs(ctx, part)
}

// StoreImport stores a part, at most ImportBatch messages, and has the conversation read it. It returns how many were new.
func StoreImport(ctx context.Context, h *Hub, name string, part []Inbound) (fresh int, err error) {
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return 0, err
	}
	c, err := h.enter(ctx, name, h.connectors[connectorOf(name)], records)
	if err != nil {
		return 0, err
	}
	defer h.release(c)
	fresh, err = c.records.Past().ImportUnread(ctx, part)
	if err == nil {
		c.readStored()
	}
	return fresh, err
}

// ImportLeft returns how many messages of an import are stored and not summarized yet, and whether all is done. An error may be why
// the conversation cannot go on now; it tries again.
func ImportLeft(ctx context.Context, o Operator, name string) (unread int, done bool, err error) {
	records, err := o.hub.o.Store.Find(ctx, name)
	if err != nil {
		return 0, false, err
	}
	c, err := o.hub.enter(ctx, name, o.hub.connectors[connectorOf(name)], records)
	if err != nil {
		return 0, false, err
	}
	defer o.hub.release(c)
	err = c.until(ctx, func() (bool, error) {
		var failed error
		done, failed = c.importRead()
		return true, failed
	})
	if err != nil {
		return 0, false, err
	}
	unread, err = records.Past().Unread(ctx)
	return unread, done && unread == 0, err
}
