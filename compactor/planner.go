package compactor

import (
	"cmp"
	"slices"
	"time"

	"cairn/transcript"
)

// planner decides what is due, of a conversation at one moment. It changes nothing of it: what a plan changes is in the last fields.
type planner struct {
	now       view              // as it is
	lookahead *transcript.Ahead // caches it as it will be once everything prepared is applied
	policy    Policy
	meter     meter
	models    models
	retries   retries
	at        time.Time
	draining  bool      // work that can wait is left to the next start
	appliedAt int64     // the next seq when messages were last summarized; 0: not yet
	inWork    []Summary // rows in progress; no fold includes them

	// What a plan changes of these, its caller keeps for the next planner.
	terms      map[string]func() []string // of the stack's texts, which job after job reads; nil while nothing is due
	undoLifted bool                       // undone spans are no longer spared
	deficit    int                        // tokens that a level demanded beyond what is prepared
}

// ahead returns the view as it will be once everything prepared is applied. Plans are made on it, so that
// nothing is summarized twice.
func (pl *planner) ahead() view {
	v := pl.now
	v.View, *pl.lookahead = v.Ahead(v.prepared(), *pl.lookahead)
	return v
}

// planner returns a planner of this moment under p.
func (c *Compactor) planner(p Policy) *planner {
	return &planner{
		now: c.view, lookahead: &c.lookahead, policy: p, meter: c.meter, models: c.models, retries: c.retries, at: c.o.Now(),
		draining: c.draining, appliedAt: c.reports.appliedAt, undoLifted: c.undoLifted, deficit: c.tokenDeficit, terms: c.terms,
	}
}

// next returns the job that is due, or nil. In order: the fold that a prepared summary waits for,
// what a level demands, a fold if the stack is too large, a repair, a fold of an earlier session
// into one row, preparation.
func (pl *planner) next() *job {
	s := pl.now
	p := pl.policy
	now := pl.at
	extractive, ready := pl.models.choose(p, s.addressed, pl.retries, now)
	if !ready {
		return nil
	}
	used := pl.meter.used(s)
	l := pl.meter.level(pl.now)
	s = pl.ahead() // prepared spans are not summarized again
	if pl.crowded(s) {
		if j := pl.foldIfFull(s, extractive); j != nil {
			return j
		}
	}
	pl.undoLifted = pl.undoLifted || l >= aggressive
	automatic := p.Enabled && !now.Before(pl.retries.pausedUntil)
	if l != levelNone && automatic && !pl.retries.forbids(l.trigger(), now) {
		need := max(int(p.fraction(l)*float64(s.MessageCost)), pl.deficit)
		if j := pl.planLeaf(planNearest(s, need, p.tailLimits(pl.meter.budget())), l.trigger(), extractive); j != nil {
			pl.deficit = 0
			return j
		}
	}
	if j := pl.planOld(s, used, extractive); j != nil {
		return j
	}
	if pl.draining || !automatic || pl.retries.forbids(OnPrepare, now) {
		return nil
	}
	if extractive {
		return pl.planFree(s)
	}
	return pl.planPrepare(s, used)
}

// planOld plans work on existing summaries: a fold if the stack is too large, a repair, a fold of
// an earlier session.
func (pl *planner) planOld(s view, used int, extractive bool) *job {
	p := pl.policy
	now := pl.at
	folds := !pl.retries.forbids(OnRollup, now)
	if folds {
		if j := pl.foldIfFull(s, extractive); j != nil {
			return j
		}
	}
	if pl.draining {
		return nil
	}
	waits := pl.models.none(pl.meter.o.Policy()) || now.Before(pl.retries.retryAt)
	if !waits && !pl.retries.forbids(OnRepair, now) {
		if j := pl.planRepair(s, used); j != nil {
			return j
		}
	}
	unready := func(row Summary) bool { // it would be summarized twice, or hold up the others
		return overlaps(pl.now.prepared(), row) || row.Kind == Placeholder || !waits && !pl.models.ready(row)
	}
	if !folds {
		return nil
	}
	for _, session := range slices.Backward(s.Head.Earlier) { // all of it is covered, so consecutive rows are neighbours
		rows := session.Rows[max(len(session.Rows)-p.RollupFanIn, 0):] // the newest: the oldest have been folded most often
		if len(rows) >= 2 && !slices.ContainsFunc(rows, unready) {
			return pl.planRollup(rows, extractive || !pl.models.worthFolding(rows))
		}
	}
	return nil
}

// planPrepare plans work ahead of the level that will need it: first what a level demanded and did
// not get, then the oldest spans before the tail.
func (pl *planner) planPrepare(s view, used int) *job {
	p := pl.policy
	if pl.deficit > 0 {
		need := pl.deficit
		pl.deficit = 0
		if j := pl.planLeaf(planNearest(s, need, p.tailLimits(pl.meter.budget())), OnPrepare, false); j != nil {
			return j
		}
	}
	if p.Prepare() == 0 || float64(used) < p.Prepare()*float64(pl.meter.o.Window()) {
		return nil
	}
	sp := planAhead(s, min(p.spanTokens(pl.meter.budget()), pl.models.by.Piece(p.TargetPct)), p.tail(pl.meter.budget()))
	return pl.planLeaf(sp, OnPrepare, false)
}

// How many tokens the extractive summarizer summarizes ahead in one piece.
const (
	spanWithoutModel    = 2000
	minSpanWithoutModel = 1000
)

// planFree plans work ahead if there is no model. It costs nothing, so it does not wait for
// prepare_threshold, and what people say becomes a memory long before a level is reached. A small
// window reaches a level just as soon, so nothing is planned there.
func (pl *planner) planFree(s view) *job {
	p := pl.policy
	size := min(p.spanTokens(pl.meter.budget()), spanWithoutModel)
	if pl.models.has(p) || p.Prepare() == 0 || size < minSpanWithoutModel {
		return nil
	}
	return pl.planLeaf(planAhead(s, size, spanWithoutModel/2), OnPrepare, true)
}

// planRequest plans a request, or returns why there is nothing to do.
func (pl *planner) planRequest(w Requested) (*job, string) {
	s := pl.ahead()
	sp := planSpan(s, s.MessageCost+1, pl.policy.tailLimits(pl.meter.budget()))
	switch {
	case w.Trigger == OnSelf && len(sp.messages) > 0 && s.Head.Spared.Overlaps(sp.Span):
		return nil, reasonSpared
	case pl.retries.forbids(w.Trigger, pl.at):
		return nil, pl.retries.reason(w.Trigger)
	}
	reason := pl.whyNot(w.Trigger, s.turnSince(pl.appliedAt), sp.tokens)
	if reason != "" {
		return nil, reason
	}
	j := pl.planLeaf(sp, w.Trigger, pl.models.none(pl.policy))
	j.row.Focus = cmp.Or(w.Focus, j.row.Focus)
	return j, ""
}

// coversAll reports whether a running job is for all that a request could summarize. What is prepared ahead
// has to be applied at least.
func (pl *planner) coversAll(trigger Trigger, running Summary) bool {
	if running.Kind != Leaf || running.Trigger == OnRepair || running.Trigger == OnPrepare {
		return false
	}
	rest := pl.ahead().with([]Summary{running})
	sp := planSpan(rest, rest.MessageCost+1, pl.policy.tailLimits(pl.meter.budget()))
	return pl.whyNot(trigger, rest.turnSince(pl.appliedAt), sp.tokens) != ""
}

// whyNot returns why a request is refused; "" if it is not. People may always ask. A model may ask
// once a turn if compaction is enabled, and once more after a failure.
func (pl *planner) whyNot(trigger Trigger, turnSince bool, tokens int) string {
	p := pl.policy
	now := pl.at
	self := trigger == OnSelf
	switch {
	case self && !p.Enabled:
		return reasonSelfOff
	case pl.appliedAt > 0 && !turnSince && (self || tokens < minSpan):
		return reasonJust
	case self && (now.Before(pl.retries.pausedUntil) || now.Before(pl.retries.retryAt) && pl.retries.failures > 1):
		return reasonCooling
	case tokens == 0:
		return reasonShort
	case tokens < minSpan:
		return reasonLittle
	}
	return ""
}

func (pl *planner) isSpared(sp Span) bool { return pl.now.Head.Spared.Overlaps(sp) && !pl.undoLifted }
