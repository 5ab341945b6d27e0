package compactor

import (
	"cmp"
	"context"
	"slices"

	"cairn/transcript"
)

// job is one background job: a row to make, and who makes it.
type job struct {
	ctx          context.Context
	cancel       context.CancelFunc
	unchanged    context.Context // ends when people change its messages: then it makes no further request
	outdate      context.CancelFunc
	row          Summary
	tokens       int     // estimated tokens of the span when it was planned
	maxTokens    int     // limit of the text in tokens, if below the policy's; 0: the policy's
	repaired     Summary // the row that this replaces, whole or in part; its ID is 0: none
	extractive   bool    // made by the extractive summarizer
	fills        bool    // fills a placeholder, in parallel with the worker
	modelFollows bool    // a model will read the span later and extract the memories then
	policy       Policy
	children     []Summary // of a rollup
	allowed      bool      // skip Before
	unfocused    bool      // its focus must not be written any more
	restarts     bool      // ForgetFocus has stopped the writing of its row
	act          bool      // people, the model or a level set it off, or what waits for it
	undone       bool      // an undo has canceled it
	record       Job       // nil: its row is not written yet
	progress     *Progress // of the request that waits for the job; nil: none does
	requested    int64     // the row of the job that led to this one, which may wait for it; 0: none did
}

// isAct reports whether people, the model or a level set off what a trigger started: an undo takes it back.
func isAct(trigger Trigger) bool { return trigger != OnPrepare && !trigger.IsUpkeep() }

// mayWait reports whether j can be left to the next start of the program.
func (j *job) mayWait() bool {
	return !j.extractive && (j.repaired.ID != 0 || j.row.Trigger == OnPrepare)
}

func (j *job) requestedRow() int64 { return cmp.Or(j.requested, j.row.ID) }

func (pl *planner) newJob(trigger Trigger, kind Kind, tokens int, extractive bool) *job {
	p := pl.policy
	j := &job{tokens: tokens, extractive: extractive, policy: p}
	j.act = isAct(trigger)
	j.row = Summary{Kind: kind, By: ByWorker, State: Running, Trigger: trigger, Focus: p.Focus}
	if extractive {
		j.row.By, j.row.AwaitsModel = ByExtractive, pl.models.has(p) && (pl.now.addressed || trigger == OnManual)
	} else {
		j.row.Model = pl.models.o.Worker.Name()
	}
	return j
}

// planLeaf plans the summary of a span; nil if the span is empty, or is spared because its summary
// was undone. Spans that the worker declined go to the extractive summarizer.
func (pl *planner) planLeaf(sp lineSpan, trigger Trigger, extractive bool) *job {
	if len(sp.lines) == 0 || (trigger == OnBackground || trigger == OnPrepare) && pl.isSpared(sp.Span) {
		return nil
	}
	declined := !extractive && sp.From <= pl.retries.declinedTo
	j := pl.newJob(trigger, Leaf, sp.tokens, extractive || declined)
	if declined {
		j.row.AwaitsModel, j.row.Declined = true, Declined{Times: 1, By: pl.models.o.Worker.Name()}
	}
	first := sp.lines[0]
	last := sp.lines[len(sp.lines)-1]
	j.row.Span = sp.Span
	j.row.Messages = len(sp.lines)
	j.row.FromTime = first.Time
	j.row.ToTime = last.Time
	return j
}

func (pl *planner) planRollup(children []Summary, extractive bool) *job {
	p := pl.policy
	j := pl.newJob(OnRollup, Rollup, transcript.StackCost(children), extractive)
	j.children = slices.Clone(children)
	first := children[0]
	last := children[len(children)-1]
	j.row.From = first.From
	j.row.FromTime = first.FromTime
	j.row.To = last.To
	j.row.ToTime = last.ToTime
	awaitsModel := false
	for _, child := range children {
		j.row.Level = min(max(j.row.Level, child.Level+1), transcript.MaxLevel)
		j.row.Messages += child.Messages
		j.row.Children = append(j.row.Children, child.ID)
		awaitsModel = awaitsModel || child.AwaitsModel || j.row.AwaitsModel && child.By == ByWorker
		if !pl.models.gaveUp(child) && pl.models.declineCount(child) > j.row.Declined.Times && extractive {
			j.row.Declined = child.Declined // a model that improves the fold reads the same text
		}
	}
	j.row.AwaitsModel = awaitsModel && extractive && pl.models.has(p)
	return j
}
