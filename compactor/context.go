package compactor

import (
	"math"
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
)

// turnContext is a context in the form that the view shows.
type turnContext struct {
	Context
	text   string
	tokens int
}

func contextOf(c Context) turnContext {
	text := "<now>\n" + c.Text + "\n</now>"
	return turnContext{Context: c, text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}
}

// ContextTokens estimates what the text of a turn context costs in the prompt.
func ContextTokens(text string) int { return contextOf(Context{Text: text}).tokens }

// AnyVersion is a version that no head has; Begin compares no head with it.
const AnyVersion = -1

// Begin starts a turn: ctx follows the newest user message until Answered, or until Begin is called again. It
// reports false, and starts nothing, if the head is not of that version, which Quoted returned before ctx was made:
// people may have changed the messages that it quotes.
func (h *History) Begin(ctx Context, version int64) (started bool) {
	if version != AnyVersion && version != h.head.Version {
		return false
	}
	h.dropRunningContext()
	h.storedWith = AnyVersion
	i := lastOfUser(h.lines)
	h.contextRuns = ctx.Text != "" && i >= 0
	if h.contextRuns {
		ctx.Seq = h.lines[i].Seq
		h.contexts = append(h.contexts, contextOf(ctx))
	}
	return true
}

// Context returns the running turn's context, to be stored with its answer, and the version of the
// head it belongs to: it must not be stored if the head has changed since.
func (h *History) Context() (ctx Context, version int64) {
	h.storedWith = h.head.Version
	if !h.contextRuns {
		return Context{}, h.storedWith
	}
	return h.contexts[len(h.contexts)-1].Context, h.storedWith
}

// ContextNotStored notes that what Context returned was not stored: Answered drops it.
func (h *History) ContextNotStored() {
	h.storedWith = AnyVersion
}

// Quoted returns what the visible contexts quote, and the version of the head.
func (h *History) Quoted() (messages, memories map[int64]bool, version int64) {
	messages = make(map[int64]bool)
	memories = make(map[int64]bool)
	for _, c := range h.contexts {
		for _, seq := range c.Messages {
			messages[seq] = true
		}
		for _, id := range c.Memories {
			memories[id] = true
		}
	}
	return messages, memories, h.head.Version
}

func (s view) contextCost() (cost int) {
	for _, c := range s.contexts {
		cost += c.tokens
	}
	return cost
}

func (h *History) dropRunningContext() {
	if h.contextRuns {
		h.view = h.withContexts(h.contexts[:len(h.contexts)-1])
	}
	h.contextRuns = false
}

func (h *History) dropContexts(gone func(Context) bool) {
	kept := slices.DeleteFunc(slices.Clone(h.contexts), func(c turnContext) bool { return gone(c.Context) })
	if len(kept) == len(h.contexts) {
		return
	}
	h.contextRuns = h.contextRuns && !gone(h.contexts[len(h.contexts)-1].Context)
	h.view = h.withContexts(kept)
	h.changed()
}

// withContexts returns the view with other contexts. Snapshots keep theirs: the next append copies.
func (s view) withContexts(contexts []turnContext) view {
	s.contexts = slices.Clip(contexts)
	return s
}

// withNewHead returns the view without the contexts of earlier turns: a new head invalidates the
// provider's cache anyway, so they need not be sent any more. The running turn keeps its own.
func (s view) withNewHead() view {
	if s.contextRuns {
		return s.withContexts(s.contexts[len(s.contexts)-1:])
	}
	return s.withContexts(nil)
}

// A message's reasoning is sent back within its turn, where providers demand it with the results of
// tools. Afterwards it is dropped: it is not shown, counted or stored. A provider that demands it
// longer gets it with the calls, as long as they are shown.

// keepsReasoning reports whether the reasoning of m outlasts its turn.
func (sh shape) keepsReasoning(m chat.Message) bool { return sh.reasoning && len(m.Calls) > 0 }

// stored returns a message as read from disk, without reasoning that another model needed and
// without its context, which contexts contains.
func (sh shape) stored(m chat.Message) chat.Message {
	m.Context = ""
	if !sh.keepsReasoning(m) {
		m.Native = nil
	}
	return m
}

// dropReasoning drops the reasoning that no request needs any more: that of ended turns, and that
// of the running turn's steps before the head changed, whose messages become Deprived.
func (h *History) dropReasoning() { h.DropReasoning(math.MaxInt64) }

// DropReasoning is dropReasoning, and also drops that of all messages from seq on, because it may
// repeat what people have deleted.
func (h *History) DropReasoning(seq int64) {
	sh := h.shape
	drop := func(l line) bool {
		return len(l.Native) > 0 && (l.Seq >= seq || !sh.keepsReasoning(*l.Message))
	}
	if !slices.ContainsFunc(h.lines[lastOfUser(h.lines)+1:], drop) { // earlier turns have none
		return
	}
	lines := slices.Clone(h.lines)
	for i, l := range lines {
		if drop(l) {
			m := *l.Message
			m.Native = nil
			m.Deprived = h.open != 0
			lines[i].Message, lines[i].tokens = &m, l.tokens-costOfReasoning(*l.Message)
		}
	}
	h.setLines(lines)
	h.revision++
}

// Message returns a verbatim message as it is now, which the caller must not change; nil if seq is not verbatim.
func (h *History) Message(seq int64) *chat.Message {
	l, _ := h.lineAt(seq)
	return l.Message
}

// ReasoningOf returns the cost of m's reasoning, in estimated tokens, if the provider counted
// completion tokens for all of m; 0 if it counted none.
func (c *Compactor) ReasoningOf(m chat.Message, completion int) int {
	if completion <= 0 {
		return 0
	}
	return max(c.estimated(completion)-chat.TokensOf(m), 1)
}

// costOfReasoning returns the cost of m's reasoning while it is sent, in tokens.
func costOfReasoning(m chat.Message) int {
	if len(m.Native) == 0 {
		return 0
	}
	if m.Reasoning > 0 {
		return m.Reasoning
	}
	return tokens.Estimate(string(m.Native))
}
