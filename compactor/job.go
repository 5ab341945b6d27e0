package compactor

import (
	"context"
	"slices"

	"cairn/transcript"
)

// job is one background job: a row to make, and who makes it.
type job struct {
	ctx       context.Context
	cancel    context.CancelFunc
	stopped   stopped
	unchanged context.Context // ends when people change its messages: then it makes no further request
	outdate   context.CancelFunc

	row       Summary   // its By says who makes it
	record    Job       // nil: the row is not written yet
	tokens    int       // estimated tokens of the span when it was planned
	maxTokens int       // limit of the text in tokens, if below the policy's; 0: the policy's
	repaired  Summary   // the row that this replaces, in full or in part; its ID is 0: none
	children  []Summary // of a rollup
	policy    Policy

	first    *job      // the job that led to this one, which folds rows for its summary, or stands in for it; nil: none did
	progress *Progress // of the request for it; nil: nobody requested it
}

// stopped says why a job was stopped before its end, if the reason is in the conversation.
type stopped int

const (
	notStopped stopped = iota
	toRestart          // somebody wants the focus in its row to be forgotten: the row is written again
	byUndo
)

// origin returns the job that everything began with. Who requested that waits for what it leads to.
func (j *job) origin() *job {
	if j.first != nil {
		return j.first
	}
	return j
}

// extractive reports whether the extractive summarizer makes the row.
func (j *job) extractive() bool { return j.row.By == ByExtractive }

// fills reports whether it fills a placeholder, or folds rows for that, in parallel with the worker.
func (j *job) fills() bool { return j.origin().repaired.Kind == Placeholder }

// isAct reports whether an undo cancels it.
func (j *job) isAct() bool { return isAct(j.origin().row.Trigger) }

// isAct reports whether people, the model or a level set off what a trigger started: an undo takes it back.
func isAct(trigger Trigger) bool { return trigger != OnPrepare && !trigger.IsUpkeep() }

// mayWait reports whether j can be left to the next start of the program.
func (j *job) mayWait() bool {
	return !j.extractive() && (j.repaired.ID != 0 || j.row.Trigger == OnPrepare)
}

func (pl *planner) newJob(trigger Trigger, kind Kind, tokens int, extractive bool) *job {
	p := pl.policy
	j := &job{tokens: tokens, policy: p}
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
func (pl *planner) planLeaf(sp turnSpan, trigger Trigger, extractive bool) *job {
	if len(sp.messages) == 0 || (trigger == OnBackground || trigger == OnPrepare) && pl.isSpared(sp.Span) {
		return nil
	}
	declined := !extractive && sp.From <= pl.retries.declinedTo
	j := pl.newJob(trigger, Leaf, sp.tokens, extractive || declined)
	if declined {
		j.row.AwaitsModel, j.row.Declined = true, Declined{Times: 1, By: pl.models.o.Worker.Name()}
	}
	first := sp.messages[0]
	last := sp.messages[len(sp.messages)-1]
	j.row.Span = sp.Span
	j.row.Messages = len(sp.messages)
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
