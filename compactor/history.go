package compactor

import (
	"cmp"
	"slices"
	"sync"

	"cairn/llm"
)

// History holds what a conversation's view is made of. Its owner, the channel's
// goroutine, appends and reads; what rewrites the head is unexported, and is
// called by the compactor alone. Each method holds the lock for microseconds.
type History struct {
	mu          sync.Mutex // guards everything below
	head        Head
	headText    string
	headCost    int
	past        past        // what the head shows of the time before the segment
	first       []Message   // first addressed messages of the segment
	copies      []duplicate // of them and of pins, for the head
	edition     int         // raised by every change of first, lent and hidden, of which a new head is rendered
	lent        []Message   // behind rows that are being taken back: what a head uncovers of them is verbatim
	lines       []line      // verbatim, by seq; a snapshot shares the array, so no element is ever overwritten
	lineCost    int
	next        int64
	hidden      []line        // behind a marker in memory alone, because the disk refused to write it
	open        int64         // turn not answered yet, spared from every span; 0: none
	contexts    []turnContext // by seq; a snapshot shares the array, so no element is ever overwritten
	contextCost int
	contextRuns bool  // the last context is the running turn's
	storedWith  int64 // the generation with which the running turn's context is being stored
	stored      int64 // messages up to this seq are on disk
	clearedTo   int64 // as shown: may run ahead of the head's in the running turn
	resultTo    int64 // no tool result stands behind it
	spoken      bool  // somebody addressed the bot since a summary landed
	question    int64 // the newest message addressed to the bot that is known of; 0: none
	squeezed    bool  // the running turn's results are clipped below the shape's bound
	shape       shape
	revision    int   // raised by what changes a part that was there; an append does not
	anchor      Count // what the provider counted of this revision
}

// snapshot is a consistent look at a history. Its slices must not be written.
type snapshot struct {
	head        Head
	headText    string
	headCost    int
	past        past
	lines       []line
	lineCost    int
	hidden      []line
	open        int64
	contexts    []turnContext
	contextCost int
	stored      int64
	clearedTo   int64
	resultTo    int64
	spoken      bool
	question    int64
	shape       shape
	revision    int
	anchor      Count
	inWork      []Compaction // what others are making just now; no fold takes it in
}

// cost is what head, messages and contexts cost, in tokens.
func (s snapshot) cost() int { return s.headCost + s.lineCost + s.contextCost }

func newHistory(state State, sh shape) *History {
	h := &History{
		head: state.Head, next: state.Next, open: state.Open, stored: state.Next - 1,
		clearedTo: state.Head.ClearedTo, spoken: state.Spoken || state.Open != 0, first: state.First,
	}
	for _, m := range state.Messages {
		h.lines = append(h.lines, line{Message: sh.stored(m)})
		if m.Addressed {
			h.question = m.Seq
		}
	}
	for _, c := range state.Contexts {
		h.addContextLocked(contextOf(c))
	}
	h.resultTo = lastResult(h.lines, h.next)
	h.reshape(sh)
	return h
}

// Next returns the seq the next message will get.
func (h *History) Next() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next
}

// Append adds messages at the end. A turn that holds an addressed message is
// spared from every span from now on until Answered. What the bot and its tools say
// is appended before it is on disk; see Stored.
func (h *History) Append(messages ...Message) {
	h.mu.Lock()
	sh := h.shape
	h.mu.Unlock()
	lines := make([]line, len(messages))
	for i, m := range messages {
		lines[i] = lineOf(m, sh)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range lines {
		h.lines = append(h.lines, l)
		h.lineCost += l.tokens
		h.next = max(h.next, l.Seq+1)
		if l.Role == llm.RoleTool {
			h.resultTo = l.Seq
		}
		if !l.Addressed || l.Role != llm.RoleUser {
			continue
		}
		h.open, h.spoken, h.question = l.Turn, true, l.Seq
		if len(h.first) < MaxKeepFirst {
			h.first = append(slices.Clip(h.first), l.Message)
			h.fitCopiesLocked()
		}
	}
}

// Shortened returns the addressed messages of a turn that are too long for the view.
func (h *History) Shortened(turn int64) (found []Shortened) {
	for _, l := range h.snapshot().lines {
		if l.short != nil && l.Turn == turn && l.Addressed {
			found = append(found, *l.short)
		}
	}
	return found
}

// Shows reports whether a message stands in the view word for word.
func (h *History) Shows(seq int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, found := slices.BinarySearchFunc(h.lines, seq, func(l line, seq int64) int { return cmp.Compare(l.Seq, seq) })
	return found
}

// Answered ends the running turn: what was appended is on disk now. Its context stays
// if Context returned it for the head that is still there, so that it is stored.
func (h *History) Answered() {
	h.mu.Lock()
	squeezed := h.squeezed
	if h.storedWith != h.head.Generation {
		h.dropRunningContextLocked()
	}
	h.open, h.contextRuns, h.storedWith = 0, false, noGeneration
	h.dropReasoningLocked()
	h.stored = h.next - 1
	h.mu.Unlock()
	if squeezed {
		h.showResults(0)
	}
}

// quiet notes that a summary has landed: from here on somebody must speak to the bot
// before anything is paid for again.
func (h *History) quiet() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoken = h.open != 0
}

// Stored tells that everything appended so far is on disk.
func (h *History) Stored() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stored = h.next - 1
}

// Truncate forgets the messages from seq on: a turn failed before it was written.
func (h *History) Truncate(seq int64) {
	h.mu.Lock()
	n, _ := slices.BinarySearchFunc(h.lines, seq, func(l line, seq int64) int { return int(l.Seq - seq) })
	if n < len(h.lines) {
		h.changedLocked()
	}
	for _, l := range h.lines[n:] {
		h.lineCost -= l.tokens
	}
	h.lines = slices.Clip(h.lines[:n]) // the next append copies: snapshots keep theirs
	h.next = min(h.next, seq)
	h.dropContextsLocked(func(c Context) bool { return c.Seq >= seq }) // their messages are gone
	cleared := h.clearedTo > h.head.ClearedTo
	h.clearedTo = h.head.ClearedTo
	h.mu.Unlock()
	if cleared {
		h.showResults(0)
	}
}

func (h *History) snapshot() snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.snapshotLocked()
}

func (h *History) snapshotLocked() snapshot {
	return snapshot{
		head: h.head, headText: h.headText, headCost: h.headCost, past: h.past,
		lines: h.lines, lineCost: h.lineCost, hidden: h.hidden, open: h.open, contexts: h.contexts, contextCost: h.contextCost,
		stored: h.stored, clearedTo: h.clearedTo, resultTo: h.resultTo, spoken: h.spoken, question: h.question, shape: h.shape,
		revision: h.revision, anchor: h.anchor,
	}
}

// swap takes a committed head, if it is newer than the one in memory: what it
// covers leaves the lines, and old tool results are shown as it says. It returns
// what was before and what is after, of one instant. Rendering is done before the lock is
// taken; what is left under it touches only the lines that leave or come back.
func (h *History) swap(head Head) (before, after snapshot, taken bool) {
	committed := head.Stack
	h.mu.Lock()
	defer h.mu.Unlock()
	var copies []duplicate
	var headText string
	var headCost int
	var past past
	var hidden, back []line
	var lent []Message
	for rendered := -1; rendered != h.edition; {
		first, sh := h.first, h.shape
		hidden, lent = h.hidden, h.lent
		rendered = h.edition
		h.mu.Unlock()
		copies = duplicates(head.Pins, first, sh)
		hidden = slices.DeleteFunc(slices.Clone(hidden), func(l line) bool { return l.Seq < head.Start || covered(committed, l.Seq) })
		head.Stack = withHidden(committed, hidden)
		back, lent = uncovered(lent, head, sh)
		past = head.past(sh)
		headText, headCost = renderHead(copies, past, head.Stack)
		h.mu.Lock() // if something has changed meanwhile, once more
	}
	before = h.snapshotLocked()
	if head.Generation <= h.head.Generation {
		return before, before, false
	}
	clearedTo := clearedWith(head, h.clearedTo, h.head)
	h.head, h.copies, h.headText, h.headCost, h.past, h.hidden, h.lent = head, copies, headText, headCost, past, hidden, lent
	h.first = slices.DeleteFunc(slices.Clone(h.first), func(m Message) bool { return m.Seq < head.Start })
	h.edition++
	h.dropCoveredLocked()
	h.newHeadLocked()
	h.dropReasoningLocked()
	if h.takeBackLocked(back); back != nil || clearedTo != h.clearedTo {
		h.clearLocked(clearedTo)
	}
	h.changedLocked()
	return before, h.snapshotLocked(), true
}

// hide covers lines in memory alone: the disk refuses to write the marker. It tells whether
// it did: not if the head is of another generation, in which a summary may cover them.
func (h *History) hide(lines []line, generation int64) (done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head.Generation != generation {
		return false
	}
	h.hidden = slices.Concat(h.hidden, lines)
	h.edition++
	h.head.Stack = withHidden(h.head.Stack, h.hidden) // runs that have grown together are one marker
	h.headText, h.headCost = renderHead(h.copies, h.past, h.head.Stack)
	h.dropCoveredLocked()
	h.newHeadLocked()
	h.dropReasoningLocked()
	h.changedLocked()
	return true
}

// withHidden returns stack with markers that are not on disk over the lines.
func withHidden(stack []Compaction, lines []line) []Compaction {
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && lines[j].Seq == lines[j-1].Seq+1 {
			j++
		}
		stack = insert(stack, markerOver(lines[i:j]))
		i = j
	}
	return stack
}

// dropCoveredLocked takes the lines that the stack covers out of the view, and those
// of earlier segments.
// Usually they are the oldest ones: then nothing is copied.
func (h *History) dropCoveredLocked() {
	n := 0
	for n < len(h.lines) && (h.lines[n].Seq < h.head.Start || covered(h.head.Stack, h.lines[n].Seq)) {
		h.lineCost -= h.lines[n].tokens
		n++
	}
	h.lines = h.lines[n:]
	if !slices.ContainsFunc(h.head.Stack, func(c Compaction) bool { return len(h.lines) > 0 && c.To >= h.lines[0].Seq }) {
		return
	}
	kept := make([]line, 0, len(h.lines))
	for _, l := range h.lines {
		if !covered(h.head.Stack, l.Seq) {
			kept = append(kept, l)
		}
	}
	h.setLinesLocked(kept)
}
