package compactor

import (
	"cairn/chat"
	"cairn/transcript"
)

// History has the earlier names of what a conversation's owner calls. It goes once package channel calls the engine.
type History struct{ c *Compactor }

// Shortened describes how much the model sees of a message that is too long.
type Shortened = transcript.Clipped

// History returns the engine under the earlier names of its methods.
func (c *Compactor) History() History { return History{c} }

// Next is View().Next.
func (h History) Next() int64 { return h.c.view.Next }

// Append is Add.
func (h History) Append(messages ...chat.Message) { h.c.Add(messages...) }

// Stored notes that everything appended so far is on disk, see Received.
func (h History) Stored() { h.c.view.allStored() }

// Outdated is Compactor.Outdated.
func (h History) Outdated() bool { return h.c.Outdated() }

// Asked returns the messages of a turn that are addressed to the bot, in order.
func (h History) Asked(turn int64) (asked []chat.Message) {
	for _, m := range h.c.view.Turn(turn) {
		if m.Addressed {
			asked = append(asked, *m.Message)
		}
	}
	return asked
}

// Shortened returns the addressed messages of a turn that are too long for the view.
func (h History) Shortened(turn int64) (found []Shortened) {
	for _, m := range h.c.view.Turn(turn) {
		if clipped := m.Clipped(); clipped != nil && m.Addressed {
			found = append(found, *clipped)
		}
	}
	return found
}

// Shows is View().Shows.
func (h History) Shows() func(seq int64) bool { return h.c.View().Shows }

// Message returns a verbatim message as it is now, which the caller must not change; nil if seq is not verbatim.
func (h History) Message(seq int64) *chat.Message {
	m, _ := h.c.view.At(seq)
	return m.Message
}

// Quoted is View().Quoted, and the version of the head.
func (h History) Quoted() (messages, memories map[int64]bool, version int64) {
	messages, memories = h.c.view.Quoted()
	return messages, memories, h.c.view.Head.Version
}

// Begin is BeginTurn.
func (h History) Begin(ctx Context, version int64) bool { return h.c.BeginTurn(ctx, version) }

// Context is TurnContext.
func (h History) Context() (Context, int64) { return h.c.TurnContext() }

// ContextNotStored is Compactor.ContextNotStored.
func (h History) ContextNotStored() { h.c.ContextNotStored() }

// Answered is EndTurn.
func (h History) Answered() { h.c.EndTurn() }

// Truncate is Discard.
func (h History) Truncate(seq int64) { h.c.Discard(seq) }

// DropReasoning is Compactor.DropReasoning.
func (h History) DropReasoning(seq int64) { h.c.DropReasoning(seq) }
