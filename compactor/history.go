package compactor

import (
	"slices"
	"sort"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// History holds the parts of a conversation's prompt. It belongs to the goroutine that owns the
// conversation.
type History struct {
	view
	first          []chat.Message // see transcript.Snapshot
	copies         []duplicate    // of them and of pins, for the head
	next           int64
	contextsOnDisk bool  // contexts that ended in memory are still on disk
	storedWith     int64 // the version with which the running turn's context is being stored
	outdated       bool  // the disk may differ from what the view was built from
	squeezed       bool  // the running turn's results are clipped below the shape's bound
}

// view is what the prompt shows. Copies are snapshots: no element of a slice is ever overwritten.
type view struct {
	head        Head
	headText    string
	headCost    int
	past        past   // what the head shows from before the session
	lines       []line // verbatim, by seq
	lineCost    int
	hidden      []line        // behind a placeholder that exists in memory alone, because the disk refused to write it
	open        int64         // turn not answered yet, spared from every span; 0: none
	beyond      int64         // messages from this seq on follow some that are not read yet: no span reaches them; 0: none
	contexts    []turnContext // by seq
	contextRuns bool          // the last context is the running turn's
	stored      int64         // messages up to this seq are on disk
	clearedTo   int64         // as shown: may be ahead of the head's in the running turn
	resultTo    int64         // no tool result has a larger seq
	addressed   bool          // the bot was addressed since a summary was applied
	question    int64         // the newest known message addressed to the bot; 0: none
	shape       shape
	revision    int              // incremented when an existing part changes; an append does not count
	asked       int              // revision of the last request
	anchor      transcript.Count // the provider's count for this revision
	inWork      []Summary        // rows being made; no fold includes them
}

func (s view) cost() int { return s.headCost + s.lineCost + s.contextCost() }

func (s view) indexOf(seq int64) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i].Seq >= seq })
}

// lineAt returns the line of the message seq; ok is false if it is not verbatim.
func (s view) lineAt(seq int64) (l line, ok bool) {
	if i := s.indexOf(seq); i < len(s.lines) && s.lines[i].Seq == seq {
		return s.lines[i], true
	}
	return l, false
}

func newHistory(state transcript.Snapshot, sh shape) *History {
	h := &History{next: state.Next, first: state.First, view: view{
		head: state.Head, open: state.Open, beyond: state.Beyond, stored: state.Next - 1,
		clearedTo: state.Head.ClearedTo, addressed: state.Addressed || state.Open != 0, shape: sh,
	}}
	lines := make([]line, len(state.Messages))
	for i, m := range state.Messages {
		lines[i] = lineOf(sh.stored(m), sh)
		if m.Addressed {
			h.question = m.Seq
		}
	}
	for _, c := range state.Contexts {
		h.contexts = append(h.contexts, contextOf(c))
	}
	h.resultTo = lastResult(lines, h.next)
	h.showLines(lines)
	h.reshapeHead()
	return h
}

// Next returns the seq the next message will get.
func (h *History) Next() int64 {
	return h.next
}

// Append adds messages at the end. A turn with an addressed message is spared from every span from
// now on until Answered. Messages of the bot and its tools are appended before they are on disk;
// see Stored. They lack the reasoning of an answer to a request that the view no longer begins with.
func (h *History) Append(messages ...chat.Message) {
	for _, m := range messages {
		if m.Addressed && m.Role == llm.RoleUser {
			h.open = m.Turn
			h.addressed = true
			h.question = m.Seq
		}
		if m.Seq < h.next { // it was read from disk already, as it is there now
			continue
		}
		if len(m.Native) > 0 && h.asked != h.revision && !h.shape.keepsReasoning(m) {
			m.Native = nil
			m.Deprived = true
		}
		l := lineOf(m, h.shape)
		h.lines = append(h.lines, l)
		h.lineCost += l.tokens
		h.next = l.Seq + 1
		if l.Role == llm.RoleTool {
			h.resultTo = l.Seq
		}
		if isFirst(h.first, m) {
			h.first = append(h.first, *l.Message)
			h.copies = duplicates(h.head.Pins, h.first, h.shape)
		}
	}
}

// isFirst reports whether m, the next message of a session, belongs to Snapshot.First; first
// contains those before it.
func isFirst(first []chat.Message, m chat.Message) bool {
	asked := 0
	for _, f := range first {
		if f.Role == llm.RoleUser {
			asked++
		}
	}
	if m.Role == llm.RoleUser {
		return m.Addressed && asked < MaxKeepFirst
	}
	return m.Role == llm.RoleAssistant && len(m.Calls) == 0 && m.Text != "" && len(first) > 0 && first[len(first)-1].Turn == m.Turn && first[len(first)-1].Role == llm.RoleUser
}

// Asked returns the messages of a turn that are addressed to the bot, in order.
func (h *History) Asked(turn int64) (asked []chat.Message) {
	for _, l := range h.lines[h.indexOf(turn):] {
		if l.Turn == turn && l.Addressed {
			asked = append(asked, *l.Message)
		}
	}
	return asked
}

// Shortened returns the addressed messages of a turn that are too long for the view.
func (h *History) Shortened(turn int64) (found []Shortened) {
	for _, l := range h.lines[h.indexOf(turn):] {
		if l.short != nil && l.Turn == turn && l.Addressed {
			found = append(found, *l.short)
		}
	}
	return found
}

// Shows returns a function that reports whether a message is verbatim in the current view; it may
// run in any goroutine.
func (h *History) Shows() func(seq int64) bool {
	s := h.view
	return func(seq int64) bool {
		_, found := s.lineAt(seq)
		return found
	}
}

// Answered ends the running turn: all appended messages are on disk now. The turn's context stays
// if Context returned it for the head that is still current, because then it is stored.
func (h *History) Answered() {
	squeezed := h.squeezed
	if h.storedWith != h.head.Version {
		h.dropRunningContext()
	}
	h.open = 0
	h.contextRuns = false
	h.storedWith = AnyVersion
	h.dropReasoning()
	h.stored = h.next - 1
	if squeezed {
		h.rework(0, false)
	}
}

// Stored notes that everything appended so far is on disk.
func (h *History) Stored() {
	h.stored = h.next - 1
}

// Truncate drops the messages from seq on, because a turn failed before it was written.
func (h *History) Truncate(seq int64) {
	n := h.indexOf(seq)
	if n < len(h.lines) {
		h.changed()
	}
	h.lineCost -= costOf(h.lines[n:])
	h.lines = slices.Clip(h.lines[:n]) // the next append copies, so snapshots are safe
	h.next = min(h.next, seq)
	h.dropContexts(func(c Context) bool { return c.Seq >= seq }) // their messages are gone
	cleared := h.clearedTo > h.head.ClearedTo
	h.clearedTo = h.head.ClearedTo
	if cleared {
		h.rework(0, false)
	}
}

// swap adopts a committed head if it is newer than the one in memory: lines it covers leave, and old
// tool results are shown as it says.
func (h *History) swap(head Head) {
	if head.Version <= h.head.Version {
		return
	}
	hidden := slices.DeleteFunc(slices.Clone(h.hidden), func(l line) bool { return l.Seq < head.Start || covered(head.Stack, l.Seq) })
	head.Stack = withHidden(head.Stack, hidden)
	clearedTo := head.ClearedTo // an undo may lower it
	if h.clearedTo != h.head.ClearedTo {
		clearedTo = max(clearedTo, h.clearedTo) // what a running turn had to clear stays cleared
	}
	h.head = head
	h.hidden = hidden
	h.first = slices.DeleteFunc(slices.Clone(h.first), func(m chat.Message) bool { return m.Seq < head.Start })
	h.newHead()
	if clearedTo != h.clearedTo {
		h.clear(clearedTo)
	}
}

// newHead shows the head that was just set: covered lines leave, and contexts and reasoning that
// only the old head needed end.
func (h *History) newHead() {
	h.reshapeHead()
	earlier := Summary{Span: Span{To: h.head.Start - 1}}
	cut := cutOf(h.lines, append([]Summary{earlier}, h.head.Stack...))
	h.lines = cut.of(h.lines)
	h.lineCost = h.lineCost - cut.tokens
	h.view = h.withNewHead()
	h.dropReasoning()
	h.changed()
}
