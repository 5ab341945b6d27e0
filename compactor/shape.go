package compactor

import (
	"slices"

	"cairn/compactor/summarize"
	"cairn/llm"
)

// How a history is shown: what policy and window make of it, and what must be made
// again when they change or when tool results are cleared.

// shape is what policy and window make of a view.
type shape struct {
	clipTo     int  // most tokens one message is shown in
	firstMost  int  // most tokens the copies of first messages and pins may take together
	firstKeep  int  // how many of the first messages
	firstTurns int  // how many of the first turns, with their replies
	kept       int  // tool results that are never cleared
	minChars   int  // shorter results are never cleared
	maxLines   int  // of kept results behind the newest
	reasoning  bool // the provider demands the reasoning of tool calls as long as they are shown

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
	h.reshapeHead()
}

// reshapeHead shows the head in the current shape.
func (h *History) reshapeHead() {
	h.past = shownPast(h.head, h.shape)
	h.copies = duplicates(h.head.Pins, h.first, h.shape)
	h.renderHead()
}

// rework puts another line in the place of each.
func (h *History) rework(sh shape, f func(line) line) {
	lines := make([]line, len(h.lines))
	for i, l := range h.lines {
		lines[i] = f(l)
	}
	h.showLines(lines, sh)
}

// showLines shows these lines, made for a shape, in the place of all there are.
func (h *History) showLines(lines []line, sh shape) {
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

// Where a token setting and the window disagree the smaller one wins: these are
// the shares of the window beside each setting.
const (
	reserveShare = 8  // the reply: 1/8
	tailShare    = 4  // the newest messages that stay: 1/4
	messageShare = 4  // one message, and one burst: 1/4
	firstShare   = 10 // first messages and pins: 1/10
	entryShare   = 3  // one summary, of the stack's budget: 1/3 at least
	spanPercent  = 15 // what is summarized ahead at once: 15 %
	pastShare    = 2  // earlier sessions, of the stack's budget: 1/2
)

// Reserve is what is kept free for the reply, and what is sent as max_tokens.
func Reserve(maxOutput, window int) int {
	if maxOutput <= 0 {
		return window / reserveShare
	}
	return min(maxOutput, window/reserveShare)
}

// BurstBudget is how much of the window the messages of one turn may take.
func BurstBudget(window int) int { return window / messageShare }

func (p Policy) shape(window int) shape {
	return shape{
		clipTo: window / messageShare, firstMost: min(p.PinBudget, window/firstShare), firstKeep: p.KeepFirst, firstTurns: p.KeepFirstTurns,
		kept: p.ToolResultsKept, minChars: p.ToolResultMinChars, maxLines: p.ToolOutputMaxLines,
		pastMost: p.pastMost(window), pastSessions: p.EarlierSessions,
	}
}

// span is how much is summarized ahead at once, in tokens.
func (p Policy) span(window int) int { return min(p.SpanTokens, window*spanPercent/100) }

// stackBudget is what the stack may cost, in tokens.
func (p Policy) stackBudget(window int) int { return int(p.StackBudget * float64(window)) }

// pastMost is what earlier sessions may cost of it, in tokens.
func (p Policy) pastMost(window int) int {
	most := p.stackBudget(window) / pastShare
	if p.EarlierTokens > 0 {
		return min(p.EarlierTokens, most)
	}
	return most
}

// entryCap is what one summary may cost, in tokens, where left is left of the stack's
// budget. A third of the budget is made free for it in any case, by folds.
func (p Policy) entryCap(window, left int) int {
	return min(p.MaxSummary, max(left, p.stackBudget(window)/entryShare))
}

// target is how long the summary of a span shall be, in tokens, if it may have most.
func (p Policy) target(spanTokens, most int) int {
	return max(min(spanTokens*p.TargetPct/100, most), summarize.MinSummary)
}

// tooLong is from how many tokens on a summary is too long that shall have target.
func tooLong(target int) int { return max(2*target, 3*summarize.MinSummary) }

// headingCost is what stands above a summary's text, in tokens, at most.
const headingCost = 40

// spared is what stays of the newest messages.
func (p Policy) spared(window int) spared {
	return spared{p.KeepLastN, p.KeepLastTurns, p.tail(window)}
}

// tail is how much keep_last_n and keep_last_turns may spare, in tokens.
func (p Policy) tail(window int) int { return min(p.TailTokens, window/tailShare) }
