package compactor

import (
	"slices"
	"time"

	"cairn/compactor/worker"
	"cairn/internal/lazy"
	"cairn/internal/words"
	"cairn/transcript"
)

// assignment returns what the summarizer of a job needs.
func (pl *planner) assignment(j *job) worker.Assignment {
	p := j.policy
	heading := j.row
	heading.Text = ""
	under := pl.under(j)
	left, others := pl.stackBeside(j)
	limit := max(left-heading.Cost()-1, transcript.MinSummary) // sums of parts are rounded up
	if j.maxTokens > 0 {
		limit = min(limit, j.maxTokens)
	}
	limit = max(limit-peopleCost(under...), transcript.MinSummary) // what people wrote there stays
	memories := p.MaxMemories
	if !p.ExtractMemories || pl.modelFollows(j) {
		memories = 0
	}
	return worker.Assignment{
		Row: j.row, Children: j.children, Repaired: j.repaired, Removed: transcript.Removed(under...),
		Around: pl.ahead().around(j.row), Others: others,
		Strategy: pl.models.o.Strategy(p.Strategy), ByModel: !j.extractive(),
		Target: j.target(limit), Limit: limit, Percent: p.TargetPct, Memories: memories,
		MaxCalls: p.MaxTurns, MaxDeclines: pl.models.o.Policy().FailureLimit, Reasoning: p.Reasoning,
		Timeout: time.Duration(p.Timeout), Changed: j.unchanged.Done(),
	}
}

// modelFollows reports whether a model will read a job's messages later, and extract the memories then: what the extractive
// summarizer makes in place of a row is repaired.
func (pl *planner) modelFollows(j *job) bool {
	if !j.extractive() || j.repaired.ID == 0 {
		return false
	}
	extractive, _ := pl.models.choose(j.policy, pl.now.addressed, pl.retries, pl.at)
	return !extractive || !j.fills()
}

// target returns the length, in tokens, aimed at for the text of a job that may have limit tokens.
func (j *job) target(limit int) int {
	switch {
	case j.row.Kind == Rollup && j.extractive() && j.tokens > 0: // it chooses among messages again, so leaving room gains nothing
		return max(min(limit, j.tokens*3/4), transcript.MinSummary)
	case j.row.Kind == Rollup && !j.extractive(): // of summaries, which are dense already
		return max(min(limit*9/10, j.tokens/2), transcript.MinSummary)
	case j.tokens == 0: // unknown until the span is read
		return max(limit*9/10, transcript.MinSummary)
	}
	return j.policy.target(j.tokens, limit)
}

// around returns what surrounds a row in its session, of what is on disk: a summary that quotes what is not is stale.
func (v view) around(row Summary) worker.Around {
	if row.From >= v.Head.Start {
		return worker.AroundOf(row, v.Head.Stack, v.Messages[:v.IndexOf(v.state.NextSeq)])
	}
	var rows []Summary
	for _, session := range v.Head.Earlier {
		if session.From <= row.From && row.To <= session.To {
			rows = session.Rows
		}
	}
	return worker.AroundOf(row, rows, nil)
}

// under returns the rows that the job's row takes the place of.
func (pl *planner) under(j *job) []Summary {
	return slices.DeleteFunc(pl.ahead().Head.Rows(), func(row Summary) bool { return !row.Overlaps(j.row.Span) })
}

// stackBeside returns how many tokens the job's row may take in the stack, and the words of the other
// rows: it may take what they leave of the budget. If they leave little they are folded.
func (pl *planner) stackBeside(j *job) (room int, others []func() []string) {
	planned := pl.ahead()
	left := j.policy.stackBudget(pl.meter.budget()) - planned.Past.Tokens
	if j.row.From < planned.Head.Start { // it is shown among what is from before
		left = min(left, j.policy.maxPast(pl.meter.budget())-transcript.NewSessionTokens)
	}
	if j.row.Kind == Rollup && j.extractive() {
		left = 0 // it folds again and again: no row should take most of the stack
	}
	known := make(map[string]func() []string, len(planned.Head.Stack))
	for _, other := range planned.Head.Stack {
		if !other.Overlaps(j.row.Span) {
			left -= other.Tokens
			terms := pl.terms[other.Text]
			if terms == nil {
				terms = lazy.Value(func() []string { return words.Content(other.Text) })
			}
			known[other.Text] = terms
			others = append(others, terms)
		}
	}
	pl.terms = known
	return j.policy.entryCap(pl.meter.budget(), left), others
}
