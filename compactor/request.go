package compactor

import (
	"fmt"
	"time"

	"cairn/compactor/summarize"
)

// Compactions that people and the model ask for.

// Reasons why there is nothing to compact, in words for people.
const (
	reasonShort     = "there is nothing old enough to summarize; the newest messages always stay as they are"
	reasonLittle    = "what is older than the newest messages is too short; its summary would be no shorter"
	reasonRunning   = "a compaction is running already"
	reasonScheduled = "it is already scheduled, and begins when what runs now has ended"
	reasonEnd       = "the program is about to end: ask again when it is back"
	reasonJust      = "it was just compacted, and nothing new can be summarized"
	reasonSelfOff   = "compaction is switched off here; only people may ask for it"
	reasonCooling   = "the last attempts came to nothing, so it is cooling down"
	reasonOff       = "automatic compaction is switched off"
	reasonSpared    = "the last compaction was undone; its messages stay as they are until the aggressive level or /compact"
	reasonPaused    = "the last compactions freed too little, so automatic ones pause for a while"
	reasonBackoff   = "the last attempt failed; the next one waits a little"
)

// Requested is a compaction that somebody asks for. Neither of its functions may block.
type Requested struct {
	Trigger Trigger
	Focus   string // what the summary shall keep
	With    Patch  // over the policy, for this one compaction; what makes no valid policy is left out

	// Began gets, once, that it has begun or is scheduled, or why there is nothing to do: at
	// once, or when Before has decided; a turn (OnSelf) does not wait for that. nil: nobody asks.
	Began func(Event)
	// Ended gets, once, how what was begun or scheduled has ended: applied, failed, as a noop
	// that says why nothing was done, or prepared, if it has to wait until there is room. nil:
	// nobody asks.
	Ended func(Event)
}

// policyFor is the policy of a request. Whoever says how many messages stay means no more.
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

// Compact summarizes everything older than the newest messages, because somebody asks for
// it. Where something else is running, what a person wants (OnManual) is scheduled: it begins
// when that has ended, and is forgotten if the process ends before.
func (c *Compactor) Compact(w Requested) {
	if w.Trigger == OnManual {
		c.retryDeclined()
		c.undoLifted = true // also if there is nothing to do, or not now
	}
	if c.busy == nil {
		c.startRequest(w)
		return
	}
	if reason := c.whyNotScheduled(w); reason != "" {
		if e := c.refuse(w, reason); w.Began != nil {
			w.Began(e)
		}
		return
	}
	e, began := c.eventOf(w, EventScheduled, ""), w.Began
	w.Began = nil
	c.queued = &w
	if c.notify(e); began != nil {
		began(e)
	}
}

// startRequest begins what was requested, or reports why not.
func (c *Compactor) startRequest(w Requested) {
	j, reason := c.planRequest(w)
	if j != nil {
		c.begin(j)
		return
	}
	told := w.Began
	if told == nil {
		told = w.Ended
	}
	if e := c.refuse(w, reason); told != nil {
		told(e)
	}
}

// eventOf is an event of a request of which no more is known.
func (c *Compactor) eventOf(w Requested, state EventState, reason string) Event {
	return Event{State: state, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window(), Error: reason}
}

// refuse tells why nothing was planned. What is ready and waits is shown all the same.
func (c *Compactor) refuse(w Requested, reason string) Event {
	little := reason == reasonShort || reason == reasonLittle || reason == reasonJust
	if little && c.apply(c.ctx, demand{share: 1}) {
		return c.reports.last
	}
	e := c.eventOf(w, EventNoop, reason)
	c.notify(e)
	return e
}

// planRequest plans what is requested, or says why there is nothing to do.
func (c *Compactor) planRequest(w Requested) (*job, string) {
	s, p, window, now := c.ahead(), c.policyFor(w), c.o.Window(), c.o.Now()
	sp := planSpan(s, s.lineCost+1, p.spared(c.budget()))
	switch {
	case c.ctx.Err() != nil:
		return nil, reasonEnd
	case w.Trigger == OnSelf && len(sp.lines) > 0 && s.head.Spares(sp.from, sp.to):
		return nil, reasonSpared
	case c.retries.forbids(w.Trigger, now):
		return nil, c.retries.reason(w.Trigger)
	}
	if reason := c.whyNot(w.Trigger, p, s.turnSince(c.reports.appliedAt), sp.tokens, now); reason != "" {
		return nil, reason
	}
	j := c.leafOf(sp, w.Trigger, p, window, c.noModel(p))
	if j.began, j.ended = w.Began, w.Ended; w.Focus != "" {
		j.row.Focus = w.Focus
	}
	return j, ""
}

// whyNotScheduled says why a request cannot wait for the end of what is running: it
// is a model's, which may ask again, or another one waits, or nothing will be left to do.
func (c *Compactor) whyNotScheduled(w Requested) string {
	s, p, now := c.h.view, c.policyFor(w), c.o.Now()
	running := c.busy.row
	switch {
	case w.Trigger != OnManual:
		return reasonRunning
	case c.queued != nil:
		return reasonScheduled
	case running.Trigger == OnPrepare:
		return "" // it is shown then, at least
	}
	rest := s.with(append(c.prepared[:len(c.prepared):len(c.prepared)], running))
	sp := planSpan(rest, rest.lineCost+1, p.spared(c.budget()))
	reason := c.whyNot(w.Trigger, p, s.turnSince(c.reports.appliedAt), sp.tokens, now)
	if reason != "" && running.Kind == Leaf && running.Trigger != OnRepair {
		return fmt.Sprintf("%s, of messages #%d to #%d", reasonRunning, running.From, running.To)
	}
	return reason
}

// whyNot says why a request is not granted; "": it is. People may always ask. A
// model may once a turn, where compaction is switched on, and once more after a failure.
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
