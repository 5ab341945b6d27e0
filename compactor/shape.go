package compactor

import (
	"slices"

	"cairn/llm"
)

// How a history is shown: what policy and window make of it, and what must be made
// again when they change or when tool results are cleared.

// shape is what policy and window make of a view.
type shape struct {
	clipTo    int  // most tokens one message is shown in
	firstMost int  // most tokens the copies of first messages and pins may take together
	firstKeep int  // how many of the first messages
	kept      int  // tool results that are never cleared
	minChars  int  // shorter results are never cleared
	maxLines  int  // of kept results behind the newest
	reasoning bool // the provider demands the reasoning of tool calls as long as they are shown

	pastMost     int // most tokens that earlier sessions and what a thread inherited may take together
	pastSessions int // how many sessions of them
}

// reshape shows everything again if the shape is another one.
func (h *History) reshape(sh shape) {
	if h.shape == sh {
		return
	}
	h.shape = sh
	h.rework(sh, func(l line) line { return lineOf(l.Message, sh) })
	h.past = h.head.past(sh)
	h.copies = duplicates(h.head.Pins, h.first, sh)
	h.renderHead()
}

// rework puts another line in the place of each.
func (h *History) rework(sh shape, f func(line) line) {
	lines := make([]line, len(h.lines))
	for i, l := range h.lines {
		lines[i] = f(l)
	}
	clearResults(lines, h.clearedTo, sh.kept)
	h.setLines(lines)
	h.revision++
}

// showResults shows tool results, and what the bot said and gave its tools, in at
// most limit tokens each; 0: as the shape says.
func (h *History) showResults(limit int) {
	sh := h.shape
	h.squeezed = limit > 0 && limit < sh.clipTo
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

func (h *History) setLines(lines []line) {
	h.lines, h.lineCost = lines, 0
	for _, l := range lines {
		h.lineCost += l.tokens
	}
}

// clear shows tool results up to seq cleared, and the others whole. The array
// is copied only if there are any: snapshots keep what they saw.
func (h *History) clear(seq int64) {
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
	h.clearedTo = h.next - 1
	h.showResults(limit)
}
