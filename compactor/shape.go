package compactor

import (
	"slices"

	"cairn/llm"
)

// How a history is shown: what policy and window make of it, and what must be made
// anew when they change or when tool results are cleared.

// shape is what policy and window make of a view.
type shape struct {
	clipTo    int  // most tokens one message is shown in
	firstMost int  // most tokens the copies of first messages and pins may take together
	firstKeep int  // how many of the first messages
	kept      int  // tool results that are never cleared
	minChars  int  // shorter results are never cleared
	maxLines  int  // of kept results behind the newest
	reasoning bool // the provider demands the reasoning of tool calls as long as they are shown

	pastMost     int // most tokens that earlier segments and what a thread inherited may take together
	pastSegments int // how many segments of them
}

// reshape shows everything anew if the shape is another one. Only the owner does
// that, so that nothing is appended meanwhile.
func (h *History) reshape(sh shape) {
	h.mu.Lock()
	same := h.shape == sh
	h.mu.Unlock()
	if same {
		return
	}
	h.rework(sh, func(l line) line { return lineOf(l.Message, sh) })
	for { // what is shown of the past is chosen without the lock
		h.mu.Lock()
		head := h.head
		h.mu.Unlock()
		past := head.past(sh)
		h.mu.Lock()
		if h.head.Generation == head.Generation {
			h.past = past
			break
		}
		h.mu.Unlock()
	}
	defer h.mu.Unlock()
	h.shape = sh
	h.revision++
	h.fitCopiesLocked()
	h.headText, h.headCost = renderHead(h.copies, h.past, h.head.Stack)
}

// rework puts another line in the place of each, made without the lock. Lines may
// leave meanwhile, which a worker's landing does; then it begins again.
func (h *History) rework(sh shape, f func(line) line) {
	for {
		h.mu.Lock()
		old, clearedTo := h.lines, h.clearedTo
		h.mu.Unlock()
		lines, cost := make([]line, len(old)), 0
		for i, l := range old {
			lines[i] = f(l)
			cost += lines[i].tokens
		}
		cost += clearResults(lines, clearedTo, sh.kept)
		h.mu.Lock()
		if len(h.lines) == len(old) && h.clearedTo == clearedTo {
			h.lines, h.lineCost = lines, cost
			h.revision++
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// showResults shows tool results, and what the bot said and gave its tools, in at
// most limit tokens each; 0: as the shape says.
func (h *History) showResults(limit int) {
	h.mu.Lock()
	sh := h.shape
	h.squeezed = limit > 0 && limit < sh.clipTo
	h.mu.Unlock()
	if limit > 0 {
		sh.clipTo = min(sh.clipTo, limit)
	}
	h.rework(sh, func(l line) line {
		if l.Role == llm.RoleUser {
			return l
		}
		return lineOf(l.Message, sh)
	})
}

// fitCopiesLocked makes the head's copies anew.
func (h *History) fitCopiesLocked() {
	h.copies = duplicates(h.head.Pins, h.first, h.shape)
	h.edition++
}

func (h *History) setLinesLocked(lines []line) {
	h.lines, h.lineCost = lines, 0
	for _, l := range lines {
		h.lineCost += l.tokens
	}
}

// clearLocked shows tool results up to seq cleared, and the others whole. The array
// is copied only if there are any: snapshots keep what they saw.
func (h *History) clearLocked(seq int64) {
	last := max(h.clearedTo, seq)
	h.clearedTo = seq
	if lastResult(h.lines, last) == 0 {
		return
	}
	h.lines = slices.Clone(h.lines)
	h.lineCost += clearResults(h.lines, seq, h.shape.kept)
}

// clearRunning clears the tool results of everything, the running turn's too, and
// shows each of those in at most limit tokens. It lasts until the turn's end.
func (h *History) clearRunning(limit int) {
	h.mu.Lock()
	h.clearedTo = h.next - 1
	h.mu.Unlock()
	h.showResults(limit)
}
