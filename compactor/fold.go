package compactor

import "slices"

// Which two summaries the extractive summarizer folds.

// maxRatio is how many times as many messages the larger of two rows that are folded may have as the smaller. Below 16 a fold
// spreads detail less evenly over a conversation of some hundred messages: with 8 its summaries retained a tenth less of the
// messages that answer questions (bench retention).
const maxRatio = 16

// balanced returns the pair of neighbours over the fewest messages for which may returns true, of those that are over about as
// many; if there is none, of all. A fold chooses among all that its rows were chosen from. If a row over thousands of messages
// took up one new summary after the other, each of them would cost as much as the whole row; like this the new ones are folded
// first, and a message has the same share of the cost in any conversation.
func balanced(stack []Summary, may func(a, b Summary) bool) (pair []Summary) {
	alike := func(a, b Summary) bool {
		return may(a, b) && max(a.Messages, b.Messages) <= maxRatio*min(a.Messages, b.Messages)
	}
	pair = lightest(stack, alike)
	if pair != nil {
		return pair
	}
	return lightest(stack, may)
}

// foldIfFull plans a fold if the stack of s exceeds its budget; nil if it does not, or nothing can be
// folded. A model folds only rows that no repair will improve, so that it reads summaries and no
// messages, and it is not paid for folding talk that was not addressed to the bot.
func (pl *planner) foldIfFull(s view, extractive bool) *job {
	p := pl.policy
	if s.StackCost() <= p.stackBudget(pl.meter.budget()) {
		return nil
	}
	if !extractive {
		unready := slices.DeleteFunc(slices.Clone(s.Head.Stack), pl.models.ready)
		if children := planFold(s, slices.Concat(pl.inWork, unready), p.RollupFanIn, false); pl.models.worthFolding(children) {
			return pl.planRollup(children, false)
		}
	}
	children := planFold(s, pl.inWork, p.RollupFanIn, true)
	if children == nil {
		children = s.tooLarge(p.entryCap(pl.meter.budget(), 0))
	}
	if children == nil || overlaps(pl.inWork, children[0]) {
		return nil
	}
	return pl.planRollup(children, true)
}

// foldAfter returns the fold that takes the stack back to its budget after j; nil if none is
// needed. A span that the model declined is folded by a model all the same: otherwise it would be
// folded with its neighbours, and they could not be repaired without it.
func (pl *planner) foldAfter(j *job, running []*job) *job {
	for _, other := range running {
		if other != j {
			pl.inWork = append(pl.inWork, other.row)
		}
	}
	fold := pl.foldIfFull(pl.ahead(), j.extractive() && (j.fills() || j.row.Declined.Times == 0))
	if fold != nil {
		fold.row.Focus = j.row.Focus
	}
	return fold
}
