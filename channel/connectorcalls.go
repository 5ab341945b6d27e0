package channel

import (
	"context"
	"errors"

	"cairn/internal/tokens"
	"cairn/memory"
)

// What connectors tell the hub beside new messages: edits, deletions, absences.

// ErrRefused is returned for a message or command of somebody who is not heard
// there. Nothing was stored.
var ErrRefused = errors.New("not heard here")

// Gap is a conversation that may have missed messages: those after one of which
// the platform id is After; empty: nothing is known of it.
type Gap = memory.Gap

// Edit replaces the text of a message. It starts no turn; a message that waits is
// answered in its new form. Of m the ID, Text, Attachments and Time, that of the
// edit, count. What was never delivered is left alone.
func (h *Hub) Edit(ctx context.Context, name string, m Inbound) error {
	return h.holdOr(ctx, memory.Delivery{Conversation: name, Edited: &m}, func() error { return h.edit(ctx, name, m) })
}

func (h *Hub) edit(ctx context.Context, name string, m Inbound) error {
	c, err := h.known(ctx, name)
	if c == nil {
		return err
	}
	defer h.release(c)
	c.repeatAfterReading(func(ctx context.Context) error { return c.edit(ctx, m) })
	return c.edit(ctx, m)
}

func (c *conversation) edit(ctx context.Context, m Inbound) error {
	seq, changed, err := c.records.Transcript().Edit(ctx, m)
	switch {
	case err != nil:
		return err
	case changed && seq > 0:
		c.inbox.post(func() { c.changed(seq) })
	case changed:
		c.wake() // it may be incomplete now
	}
	return nil
}

// Delete takes messages away, by their platform ids, for good.
func (h *Hub) Delete(ctx context.Context, name string, ids ...string) error {
	return h.holdOr(ctx, memory.Delivery{Conversation: name, Deleted: ids}, func() error { return h.delete(ctx, name, ids) })
}

func (h *Hub) delete(ctx context.Context, name string, ids []string) error {
	c, err := h.known(ctx, name)
	if c == nil {
		return err
	}
	defer h.release(c)
	c.repeatAfterReading(func(ctx context.Context) error { return c.delete(ctx, ids) })
	return c.delete(ctx, ids)
}

func (c *conversation) delete(ctx context.Context, ids []string) error {
	seqs, err := c.records.Transcript().Delete(ctx, ids)
	if err != nil {
		return err
	}
	c.hub.threadsChanged(c.name)
	if len(seqs) > 0 {
		c.inbox.post(func() { c.deleted(seqs) })
	}
	return nil
}

// copiesGone has a conversation show what it found of another one's memories as it is
// by now: deleted.
func (h *Hub) copiesGone(name string, seqs []int64) {
	if c, err := h.find(name, nil); err == nil && c != nil {
		c.inbox.post(func() { c.deleted(seqs) })
		if c.isTask() { // it may have ended with that; else it goes on with its next part
			c.interrupt()
		}
		h.release(c)
	}
}

// Asked reports whether a message, by its platform id, is known in a conversation and was
// addressed to the bot by somebody.
func (h *Hub) Asked(ctx context.Context, name, id string) (bool, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return false, err
	}
	return records.Inbox().Asked(ctx, id)
}

// SentAs returns the piece that was sent as a message of the platform, also by an earlier
// process; ok is false if none was.
func (h *Hub) SentAs(ctx context.Context, name, id string) (p Piece, ok bool, err error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return p, false, err
	}
	if p, err = records.Outbox().SentAs(ctx, id); errors.Is(err, memory.ErrNotFound) {
		return p, false, nil
	}
	return p, err == nil, err
}

// stored returns the records of a conversation in which something was said before; nil if
// nothing was.
func (h *Hub) stored(ctx context.Context, name string) (*memory.Conversation, error) {
	records, err := h.o.Store.Find(ctx, name)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	return records, err
}

// known is use for a conversation in which something was said before; nil if
// nothing was.
func (h *Hub) known(ctx context.Context, name string) (*conversation, error) {
	if records, err := h.stored(ctx, name); records == nil {
		return nil, err
	}
	return h.use(ctx, name)
}

// Away notes on disk that every conversation of a connector may have missed messages
// from here on, and returns those that have a gap now. A connector calls it before it
// delivers the first event of a new session, so that a crash cannot lose the gap.
// earlier is for connectors to which messages may come without those before them: it names a
// place before the newest one, where the gap begins then; before the first that is known
// nothing was missed.
func (h *Hub) Away(ctx context.Context, connector string, earlier func(newest, first string) string) ([]Gap, error) {
	return h.o.Store.Away(ctx, connector, earlier)
}

// CatchUp has a conversation read its gap, in the order of the platform, before it
// takes up anything else. after is where the gap of a conversation begins that has
// none noted: the platform id of a message, or of where one would stand; empty
// leaves it without one. It does not wait.
func (h *Hub) CatchUp(ctx context.Context, name, after string) error {
	if after != "" { // before anybody looks
		records, err := h.o.Store.Conversation(ctx, name)
		if err == nil {
			err = records.Past().SetGap(ctx, after)
		}
		if err != nil {
			return err
		}
	}
	c, err := h.use(ctx, name)
	if err != nil {
		return err
	}
	defer h.release(c)
	c.wake()
	return nil
}

// NothingMissed notes that a conversation has no gap after all.
func (h *Hub) NothingMissed(ctx context.Context, name string) error {
	records, err := h.stored(ctx, name)
	if records == nil {
		return err
	}
	after, open, err := records.Past().Gap(ctx)
	if err != nil || !open {
		return err
	}
	return records.Past().CloseGap(ctx, after)
}

// Suggest returns what may be meant by the beginning of a command's argument, for
// connectors that complete while people type; at most 25.
func (h *Hub) Suggest(ctx context.Context, name string, who Person, command, typed string) ([]Choice, error) {
	place := ParsePlace(name)
	access := h.access(place)
	if !access.hears(place, who.ID, false) {
		return nil, ErrRefused
	}
	cmd, _, ok := parseCommand("/" + command)
	if !ok || cmd.suggest == nil || h.restricted(cmd) && !access.manages(who) {
		return nil, nil
	}
	records, err := h.stored(ctx, name)
	if records == nil {
		return nil, err
	}
	return cmd.suggest(ctx, h, records, typed)
}

// IsCommand reports whether a line is a command, which is not a message.
func IsCommand(line string) bool {
	_, _, ok := parseCommand(line)
	return ok
}

// Clip shortens a text to at most so many tokens, as the model will count them,
// keeping both ends.
func Clip(text string, most int) string { return tokens.Clip(text, most) }

// hears reports whether a message's author is heard in a conversation.
func (h *Hub) hears(name string, m Inbound) bool {
	place := ParsePlace(name)
	return h.access(place).hears(place, m.AuthorID, m.Bot)
}

// While the database is rewritten, what connectors report waits in a file, see memory.Store.Hold.

// holdOr stores d in that file, or, if nothing is being rewritten, applies it.
func (h *Hub) holdOr(ctx context.Context, d memory.Delivery, apply func() error) error {
	kept, done, err := h.o.Store.Held().Hold(ctx, d)
	defer done()
	if err != nil || kept {
		return err
	}
	return apply()
}

// applyHeld applies what was held. Messages of a connector that is closed now wait in the inbox
// for a start with it.
func (h *Hub) applyHeld(ctx context.Context, d memory.Delivery) error {
	if _, known := h.connectors[connectorOf(d.Conversation)]; !known {
		records, err := h.o.Store.Conversation(ctx, d.Conversation)
		if err == nil {
			err = records.Inbox().ApplyHeld(ctx, d)
		}
		return err
	}
	if len(d.Messages) > 0 {
		if _, err := h.deliver(ctx, d.Conversation, d.Messages); err != nil {
			return err
		}
	}
	if d.Edited != nil {
		if err := h.edit(ctx, d.Conversation, *d.Edited); err != nil {
			return err
		}
	}
	if len(d.Deleted) > 0 {
		return h.delete(ctx, d.Conversation, d.Deleted)
	}
	return nil
}
