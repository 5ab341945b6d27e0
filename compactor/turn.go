package compactor

import (
	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// contextWindow is what is in a conversation's context window, what it costs, and the last request made of it. The owner says which
// messages arrived, and how a turn begins, grows and ends.
type contextWindow struct {
	view        view
	meter       meter
	lastRequest lastRequest
	storedWith  int64 // the version with which the turn's context is being stored
}

func newContextWindow(o *Options, state transcript.Snapshot) contextWindow {
	w := contextWindow{meter: newMeter(o)}
	w.view = newView(state, w.meter.shape(w.meter.policy()))
	w.lastRequest.at = o.Now()
	for _, m := range state.Messages {
		if m.Role == llm.RoleAssistant {
			w.lastRequest.at = m.Time
		}
	}
	if state.Count.Model == o.Model {
		w.view.counted(w.view.Revision, state.Count)
	}
	return w
}

// View returns what the prompt shows now. It may be read in any goroutine.
func (w *contextWindow) View() transcript.View { return w.view.View }

// Received adds messages at the end that are on disk. A turn with an addressed message is spared from every span from
// now on until its end.
func (w *contextWindow) Received(messages ...chat.Message) {
	for _, m := range messages {
		w.view.append(m)
	}
	w.view.allStored()
}

// AnyVersion is a version that no head has; BeginTurn compares no head with it.
const AnyVersion = -1

// BeginTurn starts a turn: ctx follows the newest user message until the end of the turn, or until BeginTurn is called
// again. It reports false, and starts nothing, if the head is not of that version, that of the View that ctx was made
// for: people may have changed the messages that it quotes.
func (w *contextWindow) BeginTurn(ctx Context, version int64) (started bool) {
	if version != AnyVersion && version != w.view.Head.Version {
		return false
	}
	w.storedWith = AnyVersion
	w.view.View = w.view.BeginTurn(ctx)
	return true
}

// Add adds messages of the bot and its tools to the turn, before they are on disk. They lack the reasoning of an answer to
// a request that the view no longer begins with.
func (w *contextWindow) Add(messages ...chat.Message) {
	for _, m := range messages {
		if len(m.Native) > 0 && w.lastRequest.viewed != w.view.Revision && !w.view.Shape.KeepsReasoning(m) {
			m.Native = nil
			m.Deprived = true
		}
		w.view.append(m)
	}
}

// TurnContext returns the turn's context, to be stored with its answer, and the version of the
// head it belongs to: it must not be stored if the head has changed since.
func (w *contextWindow) TurnContext() (ctx Context, version int64) {
	w.storedWith = w.view.Head.Version
	ctx, _, _ = w.view.RunningContext()
	return ctx, w.storedWith
}

// ContextNotStored notes that what TurnContext returned was not stored: EndTurn drops it.
func (w *contextWindow) ContextNotStored() { w.storedWith = AnyVersion }

// EndTurn ends the turn: all added messages are on disk now. The turn's context stays if TurnContext returned it for the
// head that is still current, because then it is stored.
func (w *contextWindow) EndTurn() {
	if w.storedWith != w.view.Head.Version {
		w.view.View = w.view.DropRunningContext()
	}
	w.storedWith = AnyVersion
	w.meter.refused = 0
	w.view.View = w.view.EndTurn()
	w.view.allStored()
}

// Discard drops the messages from seq on, because a turn failed before it was written.
func (w *contextWindow) Discard(seq int64) { w.view.View = w.view.Truncate(seq) }

// DropReasoning drops the reasoning of all messages from seq on, because it may repeat what people have deleted.
func (w *contextWindow) DropReasoning(seq int64) { w.view.View = w.view.DropReasoning(seq) }
