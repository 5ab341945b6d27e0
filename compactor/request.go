package compactor

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"cairn/compactor/summarize"
)

// Compactions that people and the model request.

// Reasons why there is nothing to compact, in words for people.
const (
	reasonShort   = "there is nothing old enough to summarize; the newest messages always stay as they are"
	reasonLittle  = "what is older than the newest messages is too short; its summary would be no shorter"
	reasonRunning = "a compaction is running already"
	reasonEnd     = "the program is about to end: ask again when it is back"
	reasonJust    = "it was just compacted, and nothing new can be summarized"
	reasonSelfOff = "compaction is switched off here; only people may ask for it"
	reasonCooling = "the last attempts achieved nothing, so it is cooling down"
	reasonOff     = "automatic compaction is switched off"
	reasonSpared  = "the last compaction was undone; its messages stay as they are until the aggressive level or /compact"
	reasonPaused  = "the last compactions freed too little, so automatic ones pause for a while"
	reasonBackoff = "the last attempt failed; the next one comes a little later"
	reasonStale   = "its messages have changed or been summarized another way since"
)

// ErrSpent means that no model may be called for now, because it would cost too much, say.
var ErrSpent = errors.New("no model may be called here for now")

// Requested is a requested compaction. Neither of its functions may block.
type Requested struct {
	Trigger Trigger
	Focus   string // what the summary should keep
	With    Patch  // over the policy, for this compaction alone; values that make it invalid are left out

	// Began is called once, with an event that says that the compaction started or is scheduled, or
	// why there is nothing to do: immediately, or after Before has returned, for which a turn
	// (OnSelf) does not wait. May be nil.
	Began func(Event)
	// Ended is called once for a compaction that started or was scheduled, with its outcome: applied,
	// failed, a noop with the reason, or prepared if it has to wait for room. May be nil.
	Ended func(Event)
}

// policyFor returns the policy of a request. A request that sets only one of keep_last_n and
// keep_last_turns disables the other.
func (c *Compactor) policyFor(w Requested) Policy {
	p, _ := w.With.Fit(c.o.Policy())
	_, messages := w.With["keep_last_n"]
	_, turns := w.With["keep_last_turns"]
	switch {
	case messages && !turns:
		p.KeepLastTurns = 0
	case turns && !messages:
		p.KeepLastN = 0
	}
	return p.At(c.o.Window())
}

// Compact summarizes everything older than the newest messages on request. While another job runs,
// one request of people (OnManual) is queued, unless that job is what it asks for: it starts when the
// job ends, and is lost if the process ends first.
func (c *Compactor) Compact(w Requested) {
	if w.Trigger == OnManual {
		c.retries.declinedTo = 0
		if slices.ContainsFunc(c.h.head.Rows(), func(row Compaction) bool { return row.Declined.Times > 0 }) {
			c.noteDeclined(0, Declined{})
		}
		c.undoLifted = true // even if there is nothing to do, or not now
	}
	if c.busy == nil {
		c.startRequest(w)
		return
	}
	running := c.busy.row
	if w.Trigger != OnManual || c.queued != nil || running.Kind == Leaf && running.Trigger != OnRepair && running.Trigger != OnPrepare {
		w.answer(c.refuse(w, reasonRunning))
		return
	}
	c.queued = &w
	w.began(c.notify(Event{State: EventScheduled, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window()}))
}

// began calls Began, unless it was called before.
func (w *Requested) began(e Event) {
	if w.Began != nil {
		w.answer(e)
	}
}

// answer calls Began, or Ended if Began was called before, each once.
func (w *Requested) answer(e Event) {
	notify := w.Began
	if w.Began = nil; notify == nil {
		notify, w.Ended = w.Ended, nil
	}
	if notify != nil {
		notify(e)
	}
}

func (c *Compactor) startRequest(w Requested) {
	j, reason := c.planRequest(w)
	if j != nil {
		c.startJob(j)
		return
	}
	w.answer(c.refuse(w, reason))
}

// refuse reports why nothing was planned. If prepared summaries are waiting, it applies them and
// returns their event instead.
func (c *Compactor) refuse(w Requested, reason string) Event {
	little := reason == reasonShort || reason == reasonLittle || reason == reasonJust
	if little && c.apply(c.ctx, demand{share: 1}) {
		return c.reports.last
	}
	return c.notify(Event{State: EventNoop, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window(), Error: reason})
}

// planRequest plans a request, or returns why there is nothing to do.
func (c *Compactor) planRequest(w Requested) (*job, string) {
	s, p, now := c.ahead(), c.policyFor(w), c.o.Now()
	sp := planSpan(s, s.lineCost+1, p.tailLimits(c.budget()))
	switch {
	case c.ctx.Err() != nil:
		return nil, reasonEnd
	case w.Trigger == OnSelf && len(sp.lines) > 0 && s.head.Spared.Overlaps(sp.Span):
		return nil, reasonSpared
	case c.retries.forbids(w.Trigger, now):
		return nil, c.retries.reason(w.Trigger)
	}
	if reason := c.whyNot(w.Trigger, p, s.turnSince(c.reports.appliedAt), sp.tokens, now); reason != "" {
		return nil, reason
	}
	j := c.planLeaf(sp, w.Trigger, p, c.noModel(p))
	j.asked = w
	j.row.Focus = cmp.Or(w.Focus, j.row.Focus)
	return j, ""
}

// whyNot returns why a request is refused; "" if it is not. People may always ask. A model may ask
// once a turn if compaction is enabled, and once more after a failure.
func (c *Compactor) whyNot(trigger Trigger, p Policy, turnSince bool, tokens int, now time.Time) string {
	self := trigger == OnSelf
	switch {
	case self && !p.Enabled:
		return reasonSelfOff
	case c.reports.appliedAt > 0 && !turnSince && (self || tokens < summarize.MinSummary+headingCost):
		return reasonJust
	case self && (now.Before(c.retries.pausedUntil) || now.Before(c.retries.retryAt) && c.retries.failures > 1):
		return reasonCooling
	case tokens == 0:
		return reasonShort
	case tokens < summarize.MinSummary+headingCost:
		return reasonLittle
	}
	return ""
}
