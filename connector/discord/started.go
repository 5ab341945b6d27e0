// Replies that an earlier process started, found by its messages.

package discord

import (
	"context"
	"errors"

	"cairn/channel"
)

// started is what a search finds of a reply that an earlier process started.
type started struct {
	to     []string
	pieces []message // the one that references any of to, and those that follow without a reference
	bare   []message // without a reference, and not behind one of another reply
	other  bool      // there was one of another reply
}

// precedes reports whether a message is older than what this process receives in a conversation, by Discord's clock: an earlier process
// may have answered it.
func (h *history) precedes(conversation, id string) bool {
	return timeOf(id).Before(h.base.Clock.At(h.openedAt(conversation)))
}

// findStarted returns the messages in which an earlier process started the reply to the messages to; reply is its id, once it has
// one. The first references the newest of to, unless that was deleted when it was posted; in a thread from the question, none does.
func (h *history) findStarted(ctx context.Context, at spot, reply string, to []string) ([]message, error) {
	conversation := at.conversation
	s := started{to: to}
	_, err := h.find(ctx, at, reply, to, func(m message) bool {
		return s.add(m, h.precedes(conversation, m.ID))
	})
	if at.isThread() {
		return s.bare, err
	}
	if err != nil || len(s.pieces) > 0 || len(s.bare) == 0 {
		return s.pieces, err
	}
	_, err = h.messageByID(ctx, channelID(conversation), replyTarget(0, to), false)
	switch {
	case refusalIn(err).code == codeUnknownMessage:
		return s.bare, nil
	case errors.Is(err, channel.ErrGone):
		return nil, nil
	}
	return nil, err
}

// add looks at the next of the bot's messages, and reports whether the pieces are complete. early: this process had not started.
func (s *started) add(m message, early bool) (complete bool) {
	plain := m.Reference == nil && m.Type == 0
	switch {
	case len(s.pieces) > 0 && plain && early:
		s.pieces = append(s.pieces, m)
	case len(s.pieces) > 0: // it belongs to another reply
		return true
	case m.repliesTo(s.to):
		s.pieces = append(s.pieces, m)
	case !plain:
		s.other = true
	case early && !s.other:
		s.bare = append(s.bare, m)
	}
	return false
}
