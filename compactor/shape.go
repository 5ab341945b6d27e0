package compactor

import (
	"cairn/chat"
	"cairn/compactor/worker"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// Where a token setting and the window disagree, the smaller one wins. These are the shares of the
// window for each setting.
const (
	reserveShare = 8  // the reply: 1/8
	tailShare    = 4  // the newest messages that stay: 1/4
	messageShare = 4  // one message, and one burst: 1/4
	firstShare   = 10 // first messages and pins: 1/10
	stackShare   = 2  // summaries shown: 1/2
	entryShare   = 3  // one summary: at least 1/3 of the stack's budget
	spanShare    = 4  // summarized ahead in one piece: 1/4 of the background fraction, about half of what leaves at that level
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
	return tokens.PerMessage + tokens.Estimate(system) + chat.ToolTokens(tools...)
}

// ContextTokens estimates what the text of a turn context costs in the prompt.
func ContextTokens(text string) int { return transcript.ContextTokens(text) }

// BurstBudget returns how many tokens of the window one message, and the messages of one turn, may
// take.
func BurstBudget(window int) int { return window / messageShare }

// shape returns the form in which a window of that size shows a conversation.
func (p Policy) shape(window int) transcript.Shape {
	return transcript.Shape{
		ClipTo: window / messageShare, MaxCopies: min(p.PinBudget, window/firstShare), KeepFirst: p.KeepFirst, KeepFirstTurns: p.KeepFirstTurns,
		ResultsKept: p.ToolResultsKept, ResultMinChars: p.ToolResultMinChars, ResultMaxLines: p.ToolOutputMaxLines,
		MaxStack: window / stackShare, MaxPast: p.maxPast(window), MaxSessions: p.EarlierSessions,
	}
}

// spanTokens returns how many tokens are summarized ahead in one piece: at most about half of what leaves
// at the background level, when messages take half of the window.
func (p Policy) spanTokens(window int) int {
	return min(p.SpanTokens, int(p.BackgroundFraction*float64(window))/spanShare)
}

func (p Policy) stackBudget(window int) int { return int(p.StackBudget * float64(window)) }

// maxPast returns how many tokens of the stack's budget earlier sessions may take.
func (p Policy) maxPast(window int) int {
	limit := p.stackBudget(window) / pastShare
	if p.EarlierTokens > 0 {
		return min(p.EarlierTokens, limit)
	}
	return limit
}

// entryCap returns the maximum tokens of one summary if left tokens of the stack's budget are left.
// Folds free a third of the budget for it in any case.
func (p Policy) entryCap(window, left int) int {
	return min(p.MaxSummary, max(left, p.stackBudget(window)/entryShare))
}

// target returns the length aimed at for the summary of a span, in tokens, up to limit.
func (p Policy) target(spanTokens, limit int) int {
	return worker.Length(spanTokens, p.TargetPct, limit)
}

// headingCost is the maximum cost, in tokens, of the heading above a summary's text.
const headingCost = 40

func (p Policy) tailLimits(window int) tailLimits {
	return tailLimits{p.KeepLastN, p.KeepLastTurns, p.tail(window)}
}

// tail returns how many tokens keep_last_n and keep_last_turns may spare.
func (p Policy) tail(window int) int { return min(p.TailTokens, window/tailShare) }
