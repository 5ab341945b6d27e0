package channel

import (
	"context"
	"errors"
	"sync"
	"time"

	"cairn/memory"
)

// briefly is how long a database may fail before people are told: less is a lock or a
// hiccup of the disk, and the answer follows anyway.
const briefly = 2 * time.Second

// unwell is which conversations cannot be stored or read, and who was told. People hear
// of it once per incident; the log has the cause.
type unwell struct {
	mu        sync.Mutex // guards incidents
	incidents map[string]*incident
}

type incident struct {
	since time.Time
	told  bool
}

// failed counts a failure of a conversation and reports whether to tell people: at once
// where no retry helps, otherwise when it has lasted.
func (u *unwell) failed(conversation string, err error) (tell bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := u.incidents[conversation]
	if i == nil {
		if u.incidents == nil {
			u.incidents = make(map[string]*incident)
		}
		i = &incident{since: time.Now()}
		u.incidents[conversation] = i
	}
	hopeless := errors.Is(err, memory.ErrDamaged) || errors.Is(err, memory.ErrReplaced) || errors.Is(err, memory.ErrFull)
	tell = !i.told && (hopeless || time.Since(i.since) >= briefly)
	i.told = i.told || tell
	return tell
}

func (u *unwell) recovered(conversation string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.incidents, conversation)
}

// Undelivered tells the author of a message, once per incident, that Deliver failed. A
// connector that goes on trying calls it after each failure.
func (h *Hub) Undelivered(ctx context.Context, conversation string, m Inbound, err error) {
	if !m.Addressed || ctx.Err() != nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrClosed) || !h.unwell.failed(conversation, err) {
		return
	}
	text := "I cannot store your message at the moment. I keep trying, and answer when I have it."
	switch {
	case errors.Is(err, memory.ErrReplaced):
		text = "My database was deleted or moved, so I cannot store your message. Ask the bot's operator to put it back; I keep trying until then."
	case errors.Is(err, memory.ErrFull):
		text = "My disk is full, so I cannot store your message. Ask the bot's operator to make room; I keep trying until then."
	case errors.Is(err, memory.ErrDamaged):
		text = damagedWords
	}
	h.say(ctx, conversation, m.ID, text)
}

const damagedWords = "My database is damaged, so I cannot answer. Ask the bot's operator to run `cairn doctor`; I keep trying until then."

// stalled tells the person who waits for an answer, once per incident, that the
// conversation cannot be read or written.
func (c *conversation) stalled(ctx context.Context, awaited string, err error) {
	if awaited == "" || !c.hub.unwell.failed(c.name, err) {
		return
	}
	text := "I cannot read or write my database at the moment. I keep trying, and answer when I can."
	if errors.Is(err, memory.ErrDamaged) {
		text = damagedWords
	}
	c.hub.say(ctx, c.name, awaited, text)
}

// say posts a notice past the outbox, which cannot be written either.
func (h *Hub) say(ctx context.Context, conversation, to, text string) {
	connector, ok := h.connectors[connectorOf(conversation)]
	if !ok {
		return
	}
	ids := []string{to}
	if _, err := connector.Reply(conversation, ids).Send(ctx, Piece{Reply: "unwell", Parts: 1, To: ids, Text: text, Failure: true}); err != nil {
		h.o.Log.Warn("send_notice_failed", "conversation", conversation, "error", err)
	}
}
