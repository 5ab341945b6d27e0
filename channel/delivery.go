package channel

import (
	"context"
	"errors"
	"time"

	"cairn/channel/command"
	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/store"
)

// What connectors report to the hub besides new messages: edits, deletions, absences.

// ErrRefused says that an author is not heard there, and that nothing was stored.
var ErrRefused = errors.New("not heard here")

// Edit replaces the text of a message; m.Time is the time of the edit. A message that still waits is answered as edited. One that
// is first addressed to the bot by its edit is answered as if it had been sent then; otherwise an edit starts no turn, only ID,
// Text, Attachments and Time of m matter, and a message that was never delivered is ignored.
func (h *Hub) Edit(ctx context.Context, name string, m Inbound) error {
	text, spoken := command.Spoken(m.Text)
	if spoken && m.Addressed {
		m.Text = text
	}
	m.Addressed = !spoken && asksByEdit(h.access.Rules(), name, m, h.o.CatchUp)
	return h.change(ctx, name, change{edited: &m})
}

// Delete permanently removes messages, by their platform ids.
func (h *Hub) Delete(ctx context.Context, name string, ids ...string) error {
	return h.change(ctx, name, change{deleted: ids})
}

// deliveryTimeout limits how long what a connector reports waits for the database, which is rewritten at night. What is refused
// then is not acknowledged: connectors to platforms try again, and people at a terminal or in a browser are asked to.
const deliveryTimeout = time.Minute

// change applies an edit or deletions. In a conversation without messages only an edit that addresses the bot matters.
func (h *Hub) change(ctx context.Context, name string, what change) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	if what.edited == nil || !what.edited.Addressed {
		if records, err := h.stored(ctx, name); records == nil {
			return err
		}
	}
	c, err := h.use(ctx, name)
	if err == nil {
		err = c.edits.apply(ctx, what)
		h.release(c)
	}
	if !errors.Is(err, store.ErrOwned) {
		return err
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return err
	}
	return (&edits{records: records, wake: func() {}, forgotten: h.forgotten}).write(ctx, what) // which tells its owner
}

// deliverToOwner puts messages into the inbox of a conversation that another process owns.
func (h *Hub) deliverToOwner(ctx context.Context, name string, messages []Inbound) ([]store.Receipt, error) {
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		classify(h.access.Rules(), name, &messages[i])
	}
	return records.Inbox().Deliver(ctx, messages...)
}

// WasAddressed reports whether a message with this platform id was addressed to the bot.
func (h *Hub) WasAddressed(ctx context.Context, name, id string) (bool, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return false, err
	}
	return records.Inbox().Addressed(ctx, id)
}

// Asked returns those of a conversation's messages, by their platform ids, whose authors asked for an answer.
func Asked(ctx context.Context, h *Hub, name string, ids []string) ([]chat.Message, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return nil, err
	}
	return records.Transcript().Addressed(ctx, ids)
}

// AnswersInThread reports whether the bot answers, in a thread where it was addressed, what is not addressed to it.
func AnswersInThread(h *Hub, name string) bool { return h.access.Rules().AnswersInThread(name) }

// FirstInThread reports whether nobody has written anything in a thread besides a message, by its platform id, and the bot answers there
// without a mention; false if that cannot be found out.
func FirstInThread(ctx context.Context, h *Hub, name, id string) bool {
	if !AnswersInThread(h, name) {
		return false
	}
	known, err := HasMessages(ctx, h, name, id)
	return err == nil && !known
}

// AskedFirst reports whether a message of a person, by its platform id, wanted an answer, and whether it came before all that the bot has
// written in the conversation. It may be deleted since.
func AskedFirst(ctx context.Context, h *Hub, name, id string) (asked, first bool, err error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return false, false, err
	}
	return records.Inbox().AskedFirst(ctx, id)
}

// Has reports whether a conversation has a message of a person, by its platform id, which may be deleted.
func Has(ctx context.Context, h *Hub, name, id string) (bool, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return false, err
	}
	return records.Inbox().Has(ctx, id)
}

// Said returns the text of a message of a person, by its platform id, and that of the message it replies to; empty if it is unknown.
func Said(ctx context.Context, h *Hub, name, id string) (text, replyTo string, err error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return "", "", err
	}
	return records.Inbox().Said(ctx, id)
}

// SentAs returns the piece sent as a platform message, also by an earlier process; ok is false if none was.
func (h *Hub) SentAs(ctx context.Context, name, id string) (p Piece, ok bool, err error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return p, false, err
	}
	p, err = records.Outbox().SentAs(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return p, false, nil
	}
	return p, err == nil, err
}

// stored returns the records of a conversation that has messages; nil if it has none.
func (h *Hub) stored(ctx context.Context, name string) (*store.Conversation, error) {
	records, err := h.o.Store.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return records, err
}

// Away notes on disk that every conversation of a connector may miss messages from now on, and returns those that have a gap now.
// A connector calls it before it delivers the first event of a new session, so that a crash cannot lose the gap. of says which
// conversations the session serves; nil: all. earlier is for connectors that may deliver messages without the ones before them: it
// names a place before the newest message where the gap begins; nothing was missed before the first known message.
func (h *Hub) Away(ctx context.Context, connector string, of func(conversation string) bool, earlier func(newest, first string) string) ([]Gap, error) {
	return h.o.Store.Away(ctx, connector, of, earlier)
}

// GapsToRecheck returns the conversations of a connector that were active lately, at most limit, and where each may have missed
// something: after returns that from its newest message and its first, or "" for one that was not active. of is as for Away.
func GapsToRecheck(ctx context.Context, h *Hub, connector string, of func(conversation string) bool, limit int, after func(newest, first string) string) ([]Gap, error) {
	return store.GapsToRecheck(ctx, h.o.Store, connector, of, limit, after)
}

// CatchUp has a conversation read its gap before it takes up anything else, without waiting for that. after is where
// the gap begins if none is noted: the platform id of a message, or of where one would be; empty adds no gap.
func (h *Hub) CatchUp(ctx context.Context, name, after string) error {
	if after != "" { // before the conversation looks for its gap
		records, err := h.o.Store.Conversation(ctx, name)
		if err == nil {
			err = records.Past().SetGap(ctx, after)
		}
		if err != nil {
			return err
		}
	}
	return h.wake(ctx, name)
}

// NothingMissed records that a conversation has no gap after all.
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

// Clip shortens a text to at most this many tokens, as the model will count them, keeping both ends.
func Clip(text string, most int) string { return tokens.Clip(text, most) }
