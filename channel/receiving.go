package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
)

// Where a platform sends a message to any one of several processes, all of them store messages, and one answers.

// Shared is implemented by connectors to such platforms. Each process runs them; such a connector calls Enter, and StandBy returns in the
// process that answers.
type Shared interface {
	// Receivers is how many processes may be connected to the platform.
	Receivers() int
}

// holdsOn is how long a process that cannot reach the database goes on to receive after the end of its lease. Probably nobody can, and the
// database is back soon: then it stores what it has received, in order, and no history has to be read.
const holdsOn = 30 * time.Second

// MayReceive reports whether this process can store what it receives from a platform, or may soon, or nobody else could: when it is cut off
// for long and others are there, they should get it.
func (f *Fleet) MayReceive(connector string) bool {
	return f.MayAct() || f.member.Err() == nil && time.Since(f.lease.Until()) < holdsOn || !f.othersReceive(connector)
}

// Connects reports whether this process is to be connected to the platform of a connector: because it owns shards, or is one of the
// oldest that are to be connected and are not stopping.
func (f *Fleet) Connects(c Connector) bool {
	shared, several := c.(Shared)
	switch {
	case f == nil:
		return true
	case !several:
		return !f.OwnsNone(c.Name())
	}
	older := 0
	for _, p := range f.lease.All() {
		for _, on := range p.Connectors {
			switch {
			case on.Connector != c.Name() || p.Draining:
			case p.ID == f.lease.ID():
				return older < shared.Receivers()
			default:
				older++
			}
		}
	}
	return older == 0
}

// AwaitConnection waits until this process is to be connected to the platform of a connector.
func (f *Fleet) AwaitConnection(ctx context.Context, c Connector) error {
	if f == nil {
		return nil
	}
	if !f.Connects(c) {
		f.hub.o.Log.Info("standing_by", "connector", c.Name())
	}
	for {
		joined := f.joined.next()
		if f.Connects(c) {
			return nil
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Standing says what this process does for a platform beside others; "" if it answers there.
func (f *Fleet) Standing(c Connector) string {
	shared, several := c.(Shared)
	switch {
	case !f.OwnsNone(c.Name()):
		return ""
	case !several:
		return "stands by: another process is connected"
	case f.Connects(c):
		return "receives messages: another process answers"
	}
	return fmt.Sprintf("stands by: %d other processes are connected, as many as may be", shared.Receivers())
}

// HasMessages reports whether people have written anything in a conversation besides a message, by its platform id.
func HasMessages(ctx context.Context, h *Hub, name, but string) (bool, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return false, err
	}
	return records.Inbox().HasOther(ctx, but)
}

// WhereIs returns the name of the thread of a channel's conversation that has a message, by its platform id; that of the channel if none
// has.
func WhereIs(ctx context.Context, h *Hub, name, id string) (string, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return name, err
	}
	thread, err := records.ThreadWith(ctx, id)
	return cmp.Or(thread, name), err
}

// Answering returns the platform ids of the messages that the running turn of a conversation answers; none if this process knows of no turn.
func Answering(h *Hub, name string) (to []string) {
	if turn := h.Operator().turnIn(name); turn != nil {
		to = turn.To
	}
	return to
}

// Holder returns the name of the conversation that has a message, by its platform id, among that of the channel to which name belongs and
// those of the channel's threads; name if none has it. An answer in a thread may belong to the channel's.
func Holder(ctx context.Context, h *Hub, name, id string) (string, error) {
	above := chat.ParsePlace(name)
	above.Thread = ""
	records, err := h.stored(ctx, above.String())
	if records == nil {
		return name, err
	}
	found, err := records.Holding(ctx, id)
	return cmp.Or(found, name), err
}

// Once calls act, unless it has done so before with this id, which is no platform's, in a conversation, or if that has no messages, for a
// thread in its channel's; nor if that has none, either. It notes that once act has returned no error: after a crash in between, act is
// called again.
func Once(ctx context.Context, h *Hub, name, id string, act func() error) (first bool, err error) {
	records, err := h.stored(ctx, name)
	if records == nil && err == nil {
		above := chat.ParsePlace(name)
		above.Thread = ""
		records, err = h.stored(ctx, above.String())
	}
	if records == nil {
		return false, err
	}
	known, err := records.Inbox().Has(ctx, id)
	if err != nil || known {
		return false, err
	}
	if err := act(); err != nil {
		return true, err
	}
	_, err = records.Inbox().FirstTo(ctx, id)
	return true, err
}

// IsAnswered reports whether a message, by its platform id, is a complete answer, or was read in a turn that is over.
func IsAnswered(ctx context.Context, h *Hub, name, id string) (bool, error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return false, err
	}
	m, err := records.Transcript().Sent(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && m.Seq == 0 {
		return false, nil
	}
	if err != nil || m.Role != llm.RoleUser {
		return true, err
	}
	turn, open, err := records.Turns().Unanswered(ctx)
	return !open || turn.Seq != m.Turn, err
}

// FirstTo reports whether this process is the first to handle what a platform may send to several, such as a written command that comes
// as a message and as a mention. id is its own in the conversation. If the database does not say whether this process was the first, it
// counts as such: twice is better than never.
func FirstTo(ctx context.Context, h *Hub, name, id string) (bool, error) {
	if h.fleet == nil {
		return true, nil
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return false, err
	}
	first, err := records.Inbox().FirstTo(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		return true, nil
	}
	return first, err
}
