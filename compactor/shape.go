package compactor

import (
	"slices"

	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
)

// How a history is shown: what policy and window determine, and what must be rebuilt when they
// change or tool results are cleared.

// shape is the form of a view, derived from policy and window.
type shape struct {
	clipTo     int  // most tokens of one message
	maxFirst   int  // most tokens of the copies of first messages and pins together
	firstKeep  int  // how many of the first messages
	firstTurns int  // how many of the first turns, with their replies
	kept       int  // tool results that are never cleared
	minChars   int  // shorter results are never cleared
	maxLines   int  // of kept results behind the newest
	reasoning  bool // the provider demands the reasoning of tool calls as long as they are shown

	maxStack     int // most tokens of all summaries, however large the stack is
	maxPast      int // most tokens of earlier sessions and what a thread inherited together
	pastSessions int // most sessions of them
}

func (h *History) reshape(sh shape) {
	if h.shape == sh {
		return
	}
	h.shape = sh
	h.rework(0, true)
	h.reshapeHead()
}

func (h *History) reshapeHead() {
	h.past = shownPast(h.head, h.shape)
	h.copies = duplicates(h.head.Pins, h.first, h.shape)
	h.headText, h.headCost = renderHead(h.copies, h.past, h.head.Stack, h.shape.maxStack)
}

// rework shows tool results and the bot's own messages and calls in at most limit tokens each; 0: as
// the shape says. peoples: also people's messages, in the current shape.
func (h *History) rework(limit int, peoples bool) {
	sh := h.shape
	h.squeezed = limit > 0 && limit < sh.clipTo
	if limit > 0 {
		sh.clipTo = min(sh.clipTo, limit)
	}
	lines := slices.Clone(h.lines)
	for i, l := range lines {
		if peoples || l.Role != llm.RoleUser {
			lines[i] = lineOf(*l.Message, sh)
		}
	}
	h.showLines(lines)
}

func (h *History) showLines(lines []line) {
	clearResults(lines, h.clearedTo, h.shape.kept)
	h.setLines(lines)
	h.revision++
}

func (s *view) setLines(lines []line) { s.lines, s.lineCost = lines, costOf(lines) }

// clear shows tool results up to seq cleared, and the others whole. The lines are copied only if
// there are results: snapshots keep what they saw.
func (h *History) clear(seq int64) {
	last := max(h.clearedTo, seq)
	h.clearedTo = seq
	if lastResult(h.lines, last) == 0 {
		return
	}
	h.lines = slices.Clone(h.lines)
	h.lineCost += clearResults(h.lines, seq, h.shape.kept)
}

// clearRunning clears all tool results, those of the running turn included, and shows each of those
// in at most limit tokens, until the turn ends.
func (h *History) clearRunning(limit int) {
	h.clearedTo = h.next - 1
	h.rework(limit, false)
}

// Where a token setting and the window disagree, the smaller one wins. These are the shares of the
// window for each setting.
const (
	reserveShare = 8  // the reply: 1/8
	tailShare    = 4  // the newest messages that stay: 1/4
	messageShare = 4  // one message, and one burst: 1/4
	firstShare   = 10 // first messages and pins: 1/10
	stackShare   = 2  // summaries shown: 1/2
	entryShare   = 3  // one summary: at least 1/3 of the stack's budget
	spanPercent  = 15 // summarized ahead at once: 15 %
	pastShare    = 2  // earlier sessions, of the stack's budget: 1/2
)

// Reserve returns the tokens kept free for the reply, which are sent as max_tokens.
func Reserve(maxOutput, window int) int {
	if maxOutput <= 0 {
		return window / reserveShare
	}
	return min(maxOutput, window/reserveShare)
}

// FrameCost returns what the system prompt and the tools take of each request, in estimated tokens.
func FrameCost(system string, tools []llm.Tool) int {
	return tokens.PerMessage + tokens.Estimate(system) + costOfTools(tools)
}

func costOfTools(tools []llm.Tool) (cost int) {
	for _, t := range tools {
		cost += tokens.PerMessage + tokens.Estimate(t.Name) + tokens.Estimate(t.Description) + tokens.Estimate(string(t.Parameters))
	}
	return cost
}

// BurstBudget returns how many tokens of the window one message, and the messages of one turn, may
// take.
func BurstBudget(window int) int { return window / messageShare }

func (p Policy) shape(window int) shape {
	return shape{
		clipTo: window / messageShare, maxFirst: min(p.PinBudget, window/firstShare), firstKeep: p.KeepFirst, firstTurns: p.KeepFirstTurns,
		kept: p.ToolResultsKept, minChars: p.ToolResultMinChars, maxLines: p.ToolOutputMaxLines,
		maxStack: window / stackShare, maxPast: p.maxPast(window), pastSessions: p.EarlierSessions,
	}
}

// spanTokens returns how many tokens are summarized ahead at once.
func (p Policy) spanTokens(window int) int { return min(p.SpanTokens, window*spanPercent/100) }

func (p Policy) stackBudget(window int) int { return int(p.StackBudget * float64(window)) }

// maxPast returns how many tokens of the stack's budget earlier sessions may take.
func (p Policy) maxPast(window int) int {
	most := p.stackBudget(window) / pastShare
	if p.EarlierTokens > 0 {
		return min(p.EarlierTokens, most)
	}
	return most
}

// entryCap returns the most tokens of one summary if left tokens of the stack's budget are left.
// Folds free a third of the budget for it in any case.
func (p Policy) entryCap(window, left int) int {
	return min(p.MaxSummary, max(left, p.stackBudget(window)/entryShare))
}

// target returns the length aimed at for the summary of a span, in tokens, limited to most.
func (p Policy) target(spanTokens, most int) int {
	return max(min(spanTokens*p.TargetPct/100, most), summarize.MinSummary)
}

// headingCost is the most tokens of the heading above a summary's text.
const headingCost = 40

func (p Policy) tailLimits(window int) tailLimits {
	return tailLimits{p.KeepLastN, p.KeepLastTurns, p.tail(window)}
}

// tail returns how many tokens keep_last_n and keep_last_turns may spare.
func (p Policy) tail(window int) int { return min(p.TailTokens, window/tailShare) }
