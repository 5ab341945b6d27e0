package compactor

import "slices"

// How a history is shown: what policy and window make of it, and what must be made
// anew when they change or when tool results are cleared.

// shape is what policy and window make of a view.
type shape struct {
	clipTo    int // most tokens one message is shown in
	firstMost int // most tokens the copies of the first messages may take together
	firstKeep int // how many of them
	kept      int // tool results that are never cleared
	minChars  int // shorter results are never cleared
	maxLines  int // of kept results behind the newest
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
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shape = sh
	h.changedLocked()
	h.fitFirstLocked()
	h.headText, h.headCost = renderHead(h.keptFirstLocked(), h.head.Stack)
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
			h.changedLocked()
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// showResults shows tool results in at most limit tokens each; 0: as the shape says.
func (h *History) showResults(limit int) {
	h.mu.Lock()
	sh := h.shape
	h.squeezed = limit > 0 && limit < sh.clipTo
	h.mu.Unlock()
	if limit > 0 {
		sh.clipTo = min(sh.clipTo, limit)
	}
	h.rework(sh, func(l line) line {
		if l.result == nil {
			return l
		}
		return lineOf(l.Message, sh)
	})
}

// fitFirstLocked clips the copies of the first messages so that together they
// stay inside their budget.
func (h *History) fitFirstLocked() {
	first := make([]line, len(h.first))
	sh := h.shape
	sh.clipTo = h.shape.firstMost
	for i, f := range h.first {
		if first[i] = (line{Message: f.Message}); i >= sh.firstKeep || sh.clipTo <= 2*perMessage {
			continue
		}
		l := lineOf(f.Message, sh)
		l.tokens -= l.pictures * pictureTokens // a copy is words alone
		l.pictures = 0
		sh.clipTo -= l.tokens
		first[i] = l
	}
	h.first = first
	h.edition++
}

func (h *History) keptFirstLocked() []line {
	var kept []line
	for _, f := range h.first[:min(h.shape.firstKeep, len(h.first))] {
		if f.text != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

func (h *History) setLinesLocked(lines []line) {
	h.lines, h.lineCost = lines, 0
	for _, l := range lines {
		h.lineCost += l.tokens
	}
}

// clearLocked clears tool results up to seq. The array is copied only if there are
// any: snapshots keep what they saw.
func (h *History) clearLocked(seq int64) {
	h.clearedTo = seq
	if lastResult(h.lines, seq) == 0 {
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
