package channel

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"cairn/store"
)

// incident is a failure of the database, as on a full disk. However many conversations it concerns, the log gets one warning,
// and people are notified once in each. It is safe for concurrent use.
type incident struct {
	mu       sync.Mutex      // guards all below
	stalled  map[string]bool // conversations that cannot continue
	notified map[string]bool // conversations in which people know that
}

func newIncident() *incident {
	return &incident{stalled: make(map[string]bool), notified: make(map[string]bool)}
}

// stall notes that a conversation cannot be read or written. The person who waits for an answer, to the message awaited, is
// notified: immediately if an operator must act, else if a retry has failed too.
func (i *incident) stall(ctx context.Context, in *voice, awaited string, again bool, err error) {
	in.log.Log(ctx, i.begin(in.name), "conversation_stalled", "error", err)
	if awaited != "" && (again || databaseWords(err, "") != "") {
		i.notify(ctx, in, err, "I cannot read or write my database right now. I will keep trying, and answer when I can.", awaited)
	}
}

// begin adds a conversation, and returns the log level: a warning for the first.
func (i *incident) begin(conversation string) slog.Level {
	i.mu.Lock()
	defer i.mu.Unlock()
	level := slog.LevelDebug
	if len(i.stalled) == 0 {
		level = slog.LevelWarn
	}
	i.stalled[conversation] = true
	return level
}

// end removes a conversation that continues, and reports whether it was the last.
func (i *incident) end(conversation string) (last bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	last = i.stalled[conversation] && len(i.stalled) == 1
	delete(i.stalled, conversation)
	delete(i.notified, conversation)
	return last
}

// notify notifies people in a conversation of a failure, unless they know of the incident.
func (i *incident) notify(ctx context.Context, in *voice, err error, otherwise string, to ...string) {
	i.mu.Lock()
	known := i.notified[in.name]
	i.notified[in.name] = true
	i.mu.Unlock()
	if !known {
		in.say(ctx, replyID{kind: replyUnwell, of: strconv.FormatInt(time.Now().UnixNano(), 36)}.String(), databaseWords(err, otherwise), to...)
	}
}

// size returns how many conversations cannot continue.
func (i *incident) size() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.stalled)
}

// Undelivered notifies the author of a message, once per incident, each time that Deliver failed.
func (h *Hub) Undelivered(ctx context.Context, conversation string, m Inbound, err error) {
	if m.Addressed && ctx.Err() == nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrClosed) {
		h.incident.notify(ctx, h.voice(conversation), err, "I cannot store your message right now. I will keep trying, and answer once I have it.", m.ID)
	}
}

// Refusal returns what to tell the author of a message that is not stored and not delivered again.
func (o Operator) Refusal(conversation string, err error) string {
	return o.hub.voice(conversation).translate(databaseWords(err, "Your message could not be saved, so it was not accepted. Send it again later."))
}

// databaseWords returns what people read about a failure that an operator must fix; otherwise for others.
func databaseWords(err error, otherwise string) string {
	switch {
	case errors.Is(err, store.ErrReplaced):
		return "My database was deleted or moved, so I cannot save anything. Ask the bot's operator to put it back."
	case errors.Is(err, store.ErrFull):
		return "My disk is full, so I cannot save anything. Ask the bot's operator to make room."
	case errors.Is(err, store.ErrOwned):
		return "I am just moving to another machine. Try again in a moment."
	case errors.Is(err, store.ErrUnknown):
		return "I was just moving to another machine, so this may have happened or not. Look, and try again if it did not."
	case errors.Is(err, store.ErrDamaged):
		return "My database is damaged, so I cannot answer. Ask the bot's operator to run `cairn doctor`."
	}
	return otherwise
}
