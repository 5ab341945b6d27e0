package compactor

import (
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/transcript"
)

// History holds a conversation's view, and what of it is on disk. It belongs to the goroutine that owns the
// conversation.
type History struct {
	view           view
	asked          int   // revision of the last request
	contextsOnDisk bool  // contexts that ended in memory are still on disk
	storedWith     int64 // the version with which the running turn's context is being stored
	outdated       bool  // the disk may differ from what the view was built from
}

// view is what the prompt shows, and what plans consider beside it.
type view struct {
	transcript.View
	state     *transcript.State // what is on disk, without running jobs
	beyond    int64             // messages from this seq on follow some that are not read yet: no span reaches them; 0: none
	addressed bool              // the bot was addressed since a summary was applied
	question  int64             // the newest known message addressed to the bot; 0: none
	inWork    []Summary         // rows being made; no fold includes them
}

// Shortened describes how much the model sees of a message that is too long.
type Shortened = transcript.Clipped

// stored returns the seq up to which messages are on disk.
func (v view) stored() int64 { return v.state.NextSeq - 1 }

func newHistory(state transcript.Snapshot, sh transcript.Shape) *History {
	return &History{view: view{
		View: transcript.NewView(state, sh, summarize.ShortenSummary), state: state.State(), beyond: state.Beyond,
		addressed: state.Addressed || state.Open != 0, question: lastAddressed(state.Messages),
	}}
}

// lastAddressed returns the seq of the newest message addressed to the bot; 0 if there is none.
func lastAddressed(messages []chat.Message) int64 {
	for _, m := range slices.Backward(messages) {
		if m.Addressed {
			return m.Seq
		}
	}
	return 0
}

// Next returns the seq the next message will get.
func (h *History) Next() int64 { return h.view.Next }

// Append adds messages at the end. A turn with an addressed message is spared from every span from
// now on until Answered. Messages of the bot and its tools are appended before they are on disk;
// see Stored. They lack the reasoning of an answer to a request that the view no longer begins with.
func (h *History) Append(messages ...chat.Message) {
	for _, m := range messages {
		if m.Addressed && m.Role == llm.RoleUser {
			h.view.addressed = true
			h.view.question = m.Seq
		}
		if len(m.Native) > 0 && h.asked != h.view.Revision && !h.view.Shape.KeepsReasoning(m) {
			m.Native = nil
			m.Deprived = true
		}
		h.view.View = h.view.View.Append(m)
	}
}

// Asked returns the messages of a turn that are addressed to the bot, in order.
func (h *History) Asked(turn int64) (asked []chat.Message) {
	for _, m := range h.view.Messages[h.view.IndexOf(turn):] {
		if m.Turn == turn && m.Addressed {
			asked = append(asked, *m.Message)
		}
	}
	return asked
}

// Shortened returns the addressed messages of a turn that are too long for the view.
func (h *History) Shortened(turn int64) (found []Shortened) {
	for _, m := range h.view.Messages[h.view.IndexOf(turn):] {
		if short := m.Clipped(); short != nil && m.Turn == turn && m.Addressed {
			found = append(found, *short)
		}
	}
	return found
}

// Shows returns a function that reports whether a message is verbatim in the current view; it may
// run in any goroutine.
func (h *History) Shows() func(seq int64) bool {
	v := h.view.View
	return func(seq int64) bool {
		_, found := v.At(seq)
		return found
	}
}

// Message returns a verbatim message as it is now, which the caller must not change; nil if seq is not verbatim.
func (h *History) Message(seq int64) *chat.Message {
	m, _ := h.view.At(seq)
	return m.Message
}

// AnyVersion is a version that no head has; Begin compares no head with it.
const AnyVersion = -1

// Begin starts a turn: ctx follows the newest user message until Answered, or until Begin is called again. It
// reports false, and starts nothing, if the head is not of that version, which Quoted returned before ctx was made:
// people may have changed the messages that it quotes.
func (h *History) Begin(ctx Context, version int64) (started bool) {
	if version != AnyVersion && version != h.view.Head.Version {
		return false
	}
	h.storedWith = AnyVersion
	h.view.View = h.view.BeginTurn(ctx)
	return true
}

// Context returns the running turn's context, to be stored with its answer, and the version of the
// head it belongs to: it must not be stored if the head has changed since.
func (h *History) Context() (ctx Context, version int64) {
	h.storedWith = h.view.Head.Version
	ctx, _, _ = h.view.RunningContext()
	return ctx, h.storedWith
}

// ContextNotStored notes that what Context returned was not stored: Answered drops it.
func (h *History) ContextNotStored() { h.storedWith = AnyVersion }

// Quoted returns what the visible contexts quote, and the version of the head.
func (h *History) Quoted() (messages, memories map[int64]bool, version int64) {
	messages, memories = h.view.Quoted()
	return messages, memories, h.view.Head.Version
}

// Answered ends the running turn: all appended messages are on disk now. The turn's context stays
// if Context returned it for the head that is still current, because then it is stored.
func (h *History) Answered() {
	if h.storedWith != h.view.Head.Version {
		h.view.View = h.view.DropRunningContext()
	}
	h.storedWith = AnyVersion
	h.view.View = h.view.EndTurn()
	h.Stored()
}

// Stored notes that everything appended so far is on disk.
func (h *History) Stored() {
	var messages []transcript.Message
	for _, m := range h.view.Messages[h.view.IndexOf(h.view.state.NextSeq):] {
		messages = append(messages, transcript.MessageOf(*m.Message))
	}
	h.view.state = h.view.state.Stored(h.view.Next, messages...)
}

// Truncate drops the messages from seq on, because a turn failed before it was written.
func (h *History) Truncate(seq int64) { h.view.View = h.view.View.Truncate(seq) }

// DropReasoning drops the reasoning of all messages from seq on, because it may repeat what people have deleted.
func (h *History) DropReasoning(seq int64) { h.view.View = h.view.View.DropReasoning(seq) }

// committed shows a change that the store has written, and the head as it is then.
func (h *History) committed(change transcript.Change, head Head) {
	h.view.state = h.view.state.Committed(change, head)
	h.view.View = h.view.WithHead(head)
}

// reload shows a conversation as it is on disk now, with what the disk lacks.
func (h *History) reload(now transcript.Snapshot) {
	next := view{View: h.view.Reload(now), beyond: now.Beyond, addressed: h.view.addressed}
	next.state = now.State().WithPrepared(h.view.state.Prepared)
	next.question = max(h.view.question, lastAddressed(now.Messages))
	*h = History{view: next, storedWith: h.storedWith}
}
