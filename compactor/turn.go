package compactor

import (
	"cairn/chat"
	"cairn/transcript"
)

// What a conversation's owner tells its engine: which messages arrived, and how a turn begins, grows and ends.

// View returns what the prompt shows now. It may be read in any goroutine.
func (c *Compactor) View() transcript.View { return c.view.View }

// Received adds messages at the end that are on disk. A turn with an addressed message is spared from every span from
// now on until its end.
func (c *Compactor) Received(messages ...chat.Message) {
	for _, m := range messages {
		c.view.append(m)
	}
	c.view.allStored()
}

// AnyVersion is a version that no head has; BeginTurn compares no head with it.
const AnyVersion = -1

// BeginTurn starts a turn: ctx follows the newest user message until the end of the turn, or until BeginTurn is called
// again. It reports false, and starts nothing, if the head is not of that version, that of the View that ctx was made
// for: people may have changed the messages that it quotes.
func (c *Compactor) BeginTurn(ctx Context, version int64) (started bool) {
	if version != AnyVersion && version != c.view.Head.Version {
		return false
	}
	c.storedWith = AnyVersion
	c.view.View = c.view.BeginTurn(ctx)
	return true
}

// Add adds messages of the bot and its tools to the turn, before they are on disk. They lack the reasoning of an answer to
// a request that the view no longer begins with.
func (c *Compactor) Add(messages ...chat.Message) {
	for _, m := range messages {
		if len(m.Native) > 0 && c.lastRequest.shown != c.view.Revision && !c.view.Shape.KeepsReasoning(m) {
			m.Native = nil
			m.Deprived = true
		}
		c.view.append(m)
	}
}

// TurnContext returns the turn's context, to be stored with its answer, and the version of the
// head it belongs to: it must not be stored if the head has changed since.
func (c *Compactor) TurnContext() (ctx Context, version int64) {
	c.storedWith = c.view.Head.Version
	ctx, _, _ = c.view.RunningContext()
	return ctx, c.storedWith
}

// ContextNotStored notes that what TurnContext returned was not stored: EndTurn drops it.
func (c *Compactor) ContextNotStored() { c.storedWith = AnyVersion }

// EndTurn ends the turn: all added messages are on disk now. The turn's context stays if TurnContext returned it for the
// head that is still current, because then it is stored.
func (c *Compactor) EndTurn() {
	if c.storedWith != c.view.Head.Version {
		c.view.View = c.view.DropRunningContext()
	}
	c.storedWith = AnyVersion
	c.view.View = c.view.EndTurn()
	c.view.allStored()
}

// Discard drops the messages from seq on, because a turn failed before it was written.
func (c *Compactor) Discard(seq int64) { c.view.View = c.view.Truncate(seq) }

// DropReasoning drops the reasoning of all messages from seq on, because it may repeat what people have deleted.
func (c *Compactor) DropReasoning(seq int64) { c.view.View = c.view.DropReasoning(seq) }
