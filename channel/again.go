package channel

import (
	"context"
	"errors"

	"cairn/privacy"
	"cairn/store"
)

// Replace has the newest message of a conversation, by its platform id, answered again: it is deleted with what answers it, and m, which
// has an id of its own, is delivered in its place, all or nothing. Without a text m has that of the old message, and always its files.
// A message that was delivered before changes nothing, so that a request may be repeated. An answer that is being written ends.
// ErrRefused as for Deliver; store.ErrNotFound: there is no such message; store.ErrNotNewest: others follow.
func Replace(ctx context.Context, h *Hub, name, old string, m Inbound) (receipt store.Receipt, err error) {
	if !h.access.Rules().Hears(name, m.AuthorID, m.Bot) {
		return receipt, ErrRefused
	}
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	messages := []Inbound{m}
	by := func(records *store.Conversation) ([]store.Receipt, error) {
		receipt, err := privacy.Of(records).Replace(ctx, old, messages[0])
		return []store.Receipt{receipt}, err
	}
	c, err := h.use(ctx, name)
	var receipts []store.Receipt
	if err == nil {
		receipts, err = c.deliverBy(messages, func() ([]store.Receipt, error) { return by(c.records) })
		h.release(c)
	}
	if errors.Is(err, store.ErrOwned) { // what is written tells the owner
		var records *store.Conversation
		records, err = h.o.Store.Conversation(ctx, name)
		if err == nil {
			classify(h.access.Rules(), name, &messages[0])
			receipts, err = by(records)
		}
	}
	if err != nil {
		return receipt, err
	}
	return receipts[0], nil
}
