package compactor

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	children     []Summary                // of a rollup
	removed      []transcript.DroppedLine // lines that people removed in the rows that it takes the place of
	allowed      bool                     // skip Before
	unfocused    bool                     // its focus must not be written any more
	asked        Requested                // who waits for the job; the zero value: no one
	requested    int64                    // the requested row, if this is a fold that it waits for; 0: the job's own
}

// mayWait reports whether j can be left to the next start of the program.
func (j *job) mayWait() bool {
	return !j.extractive && (j.repaired.ID != 0 || j.row.Trigger == OnPrepare)
}

func (j *job) requestedRow() int64 { return cmp.Or(j.requested, j.row.ID) }

func (c *Compactor) event(row Summary, state EventState) Event {
	return Event{
		ID: row.ID, State: state, Trigger: row.Trigger, Kind: row.Kind, By: row.By,
		From: row.From, To: row.To, Messages: row.Messages, Window: c.o.Window(), Summary: row.Marked(), Error: row.Error,
	}
}

func (c *Compactor) newJob(trigger Trigger, kind Kind, tokens int, p Policy, extractive bool) *job {
	j := &job{tokens: tokens, extractive: extractive, policy: p}
	j.row = Summary{Kind: kind, By: ByWorker, State: Running, Trigger: trigger, Focus: p.Focus}
	if extractive {
		j.row.By, j.row.AwaitsModel = ByExtractive, c.models.has(p) && (c.view.addressed || trigger == OnManual)
	} else {
		j.row.Model = c.o.Worker.Name()
	}
	return j
}

// next returns the job that is due, or nil. In order: the fold that a prepared summary waits for,
// what a level demands, a fold if the stack is too large, a repair, a fold of an earlier session
// into one row, preparation.
func (c *Compactor) next() *job {
	s := c.view
	p := c.meter.policy()
	now := c.o.Now()
	extractive, ready := c.models.choose(p, s.addressed, c.retries, now)
	if !ready {
		return nil
	}
	used := c.meter.used(s)
	l := c.meter.level(c.view)
	s = c.ahead() // prepared spans are not summarized again
	if c.crowded(s) {
		if j := c.foldIfFull(s, p, extractive); j != nil {
			j.allowed = true // the summary that waits for it was allowed
			return j
		}
	}
	c.undoLifted = c.undoLifted || l >= aggressive
	automatic := p.Enabled && !now.Before(c.retries.pausedUntil)
	if l != levelNone && automatic && !c.retries.forbids(l.trigger(), now) {
		need := max(int(p.fraction(l)*float64(s.MessageCost)), c.tokenDeficit)
		if j := c.planLeaf(planSpan(s, need, p.tailLimits(c.meter.budget())), l.trigger(), p, extractive); j != nil {
			c.tokenDeficit = 0
			return j
		}
	}
	if j := c.planOld(s, p, used, now, extractive); j != nil {
		return j
	}
	if c.draining || !automatic || c.retries.forbids(OnPrepare, now) {
		return nil
	}
	if extractive {
		return c.planFree(s, p)
	}
	return c.planPrepare(s, p, used)
}

// planOld plans work on existing summaries: a fold if the stack is too large, a repair, a fold of
// an earlier session.
func (c *Compactor) planOld(s view, p Policy, used int, now time.Time, extractive bool) *job {
	folds := !c.retries.forbids(OnRollup, now)
	if folds {
		if j := c.foldIfFull(s, p, extractive); j != nil {
			return j
		}
	}
	if c.draining {
		return nil
	}
	waits := c.models.none(c.o.Policy()) || now.Before(c.retries.retryAt)
	if !waits && !c.retries.forbids(OnRepair, now) {
		if j := c.planRepair(s, p, used, now); j != nil {
			return j
		}
	}
	unready := func(row Summary) bool { // it would be summarized twice, or hold up the others
		return overlaps(c.prepared(), row) || row.Kind == Placeholder || !waits && !c.models.ready(row)
	}
	if !folds {
		return nil
	}
	for _, session := range slices.Backward(s.Head.Earlier) { // all of it is covered, so consecutive rows are neighbours
		rows := session.Rows[max(len(session.Rows)-p.RollupFanIn, 0):] // the newest: the oldest have been folded most often
		if len(rows) >= 2 && !slices.ContainsFunc(rows, unready) {
			return c.planRollup(rows, p, extractive || !c.models.worthFolding(rows))
		}
	}
	return nil
}

// planPrepare plans work ahead of the level that will need it: first what a level demanded and did
// not get, then the oldest spans before the tail.
func (c *Compactor) planPrepare(s view, p Policy, used int) *job {
	if c.tokenDeficit > 0 {
		need := c.tokenDeficit
		c.tokenDeficit = 0
		if j := c.planLeaf(planSpan(s, need, p.tailLimits(c.meter.budget())), OnPrepare, p, false); j != nil {
			return j
		}
	}
	if p.Prepare() == 0 || float64(used) < p.Prepare()*float64(c.o.Window()) {
		return nil
	}
	sp := planAhead(s, min(p.spanTokens(c.meter.budget()), c.models.piece(p)), p.tail(c.meter.budget()))
	return c.planLeaf(sp, OnPrepare, p, false)
}

// spanWithoutModel is how many tokens the extractive summarizer summarizes ahead at once.
const spanWithoutModel = 2000

// planFree plans work ahead if there is no model. It costs nothing, so it does not wait for
// prepare_threshold, and what people say becomes a memory long before a level is reached. A small
// window reaches a level just as soon, so nothing is planned there.
func (c *Compactor) planFree(s view, p Policy) *job {
	if c.models.has(p) || p.Prepare() == 0 || p.spanTokens(c.meter.budget()) < spanWithoutModel {
		return nil
	}
	return c.planLeaf(planAhead(s, spanWithoutModel, spanWithoutModel/2), OnPrepare, p, true)
}

// planLeaf plans the summary of a span; nil if the span is empty, or is spared because its summary
// was undone. Spans that the worker declined go to the extractive summarizer.
func (c *Compactor) planLeaf(sp lineSpan, trigger Trigger, p Policy, extractive bool) *job {
	if len(sp.lines) == 0 || (trigger == OnBackground || trigger == OnPrepare) && c.isSpared(sp.Span) {
		return nil
	}
	declined := !extractive && sp.From <= c.retries.declinedTo
	j := c.newJob(trigger, Leaf, sp.tokens, p, extractive || declined)
	if declined {
		j.row.AwaitsModel, j.row.Declined = true, Declined{Times: 1, By: c.o.Worker.Name()}
	}
	first := sp.lines[0]
	last := sp.lines[len(sp.lines)-1]
	j.row.Span = sp.Span
	j.row.Messages = len(sp.lines)
	j.row.FromTime = first.Time
	j.row.ToTime = last.Time
	return j
}

func (c *Compactor) planRollup(children []Summary, p Policy, extractive bool) *job {
	j := c.newJob(OnRollup, Rollup, transcript.StackCost(children), p, extractive)
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
		if !c.models.gaveUp(child) && c.models.declineCount(child) > j.row.Declined.Times && extractive {
			j.row.Declined = child.Declined // a model that improves the fold reads the same text
		}
	}
	j.row.AwaitsModel = awaitsModel && extractive && c.models.has(p)
	return j
}

// turnSince reports whether a turn started at seq or later.
func (s view) turnSince(seq int64) bool {
	n := len(s.Messages)
	return n > 0 && s.Messages[n-1].Turn >= seq
}

func overlaps(rows []Summary, row Summary) bool {
	return slices.ContainsFunc(rows, func(r Summary) bool { return r.Overlaps(row.Span) })
}
