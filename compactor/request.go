package compactor

import (
	"fmt"
	"time"

	"cairn/compactor/summarize"
)

// Wishes: compactions that people and the model ask for.

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

// request is a compaction that somebody asked for.
type request struct {
	trigger Trigger
	focus   string
	keep    *int        // the newest messages that stay; nil: as the policy says
	began   func(Event) // told whether it begins; nil: they know
	ended   func(Event) // told how it ended; nil: nobody wants to know
}

// keepLast is how many of the newest messages stay.
func (w request) keepLast(p Policy) int {
	if w.keep != nil {
		return *w.keep
	}
	return p.KeepLastN
}

// Compact summarizes everything older than the newest messages, because somebody wants it,
// keeping what focus asks for. began is told, once, that it has begun or is scheduled, or why there is
// nothing to do: at once, or when Before has decided. Where something else is running, what a
// person wants (OnManual) is scheduled: it begins when that has ended, and is forgotten if the
// process ends before. ended, if it is not nil, is told, once, how what was begun or
// scheduled has ended: applied, failed, as a noop that says why nothing was done, or prepared, if it
// is ready and has to wait until there is room. Neither may block.
func (c *Compactor) Compact(trigger Trigger, focus string, began, ended func(Event)) {
	c.compact(request{trigger: trigger, focus: focus, began: began, ended: ended})
}

// CompactKeeping is Compact for a person who says how many of the newest messages stay.
func (c *Compactor) CompactKeeping(keep int, focus string, began, ended func(Event)) {
	c.compact(request{trigger: OnManual, focus: focus, keep: &keep, began: began, ended: ended})
}

func (c *Compactor) compact(w request) {
	if w.trigger == OnManual {
		c.forgive()
		c.undoLifted = true // also if there is nothing to do, or not now
	}
	if c.busy == nil {
		c.startRequest(w)
		return
	}
	if reason := c.whyNotScheduled(w); reason != "" {
		w.began(c.refuse(w, reason))
		return
	}
	e, began := c.eventOf(w, EventScheduled, ""), w.began
	w.began = nil
	c.queued = &w
	c.notify(e)
	began(e)
}

// grant begins what somebody wants, or tells them why not.
func (c *Compactor) startRequest(w request) {
	j, reason := c.planRequest(w)
	if j != nil {
		c.begin(j)
		return
	}
	told := w.began
	if told == nil {
		told = w.ended
	}
	if e := c.refuse(w, reason); told != nil {
		told(e)
	}
}

// eventOf is an event of a request of which no more is known.
func (c *Compactor) eventOf(w request, state EventState, reason string) Event {
	return Event{State: state, Trigger: w.trigger, Kind: Leaf, Window: c.o.Window(), Error: reason}
}

// refuse tells why nothing was planned. What is ready and waits is shown all the same.
func (c *Compactor) refuse(w request, reason string) Event {
	little := reason == reasonShort || reason == reasonLittle || reason == reasonJust
	if little && c.apply(c.ctx, demand{share: 1}) {
		return c.last
	}
	e := c.eventOf(w, EventNoop, reason)
	c.notify(e)
	return e
}

// planRequest plans what is requested, or says why there is nothing to do.
func (c *Compactor) planRequest(w request) (*job, string) {
	s, p, window, now := c.ahead(), c.o.Policy(), c.o.Window(), c.o.Now()
	sp := planSpan(s, s.lineCost+1, w.keepLast(p), p.tail(c.budget()))
	switch {
	case c.ctx.Err() != nil:
		return nil, reasonEnd
	case w.trigger == OnSelf && len(sp.lines) > 0 && s.head.Spares(sp.from, sp.to):
		return nil, reasonSpared
	}
	if reason := c.whyNot(w.trigger, p, s.turnSince(c.appliedAt), sp.tokens, now); reason != "" {
		return nil, reason
	}
	j := c.newJob(w.trigger, Leaf, 0, sp.tokens, p, window, c.noModel())
	if j.began, j.ended = w.began, w.ended; w.focus != "" {
		j.row.Focus = w.focus
	}
	c.overNarrowed(j, sp)
	return j, ""
}

// whyNotScheduled says why a request cannot wait for the end of what is running: it
// is a model's, which may ask again, or another one waits, or nothing will be left to do.
func (c *Compactor) whyNotScheduled(w request) string {
	s, p, now := c.h.view, c.o.Policy(), c.o.Now()
	running := c.busy.row
	switch {
	case w.trigger != OnManual:
		return reasonRunning
	case c.queued != nil:
		return reasonScheduled
	case running.Trigger == OnPrepare:
		return "" // it is shown then, at least
	}
	rest := s.with(append(c.prepared[:len(c.prepared):len(c.prepared)], running))
	sp := planSpan(rest, rest.lineCost+1, w.keepLast(p), p.tail(c.budget()))
	reason := c.whyNot(w.trigger, p, s.turnSince(c.appliedAt), sp.tokens, now)
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
	case c.appliedAt > 0 && !turnSince && (self || tokens < summarize.MinSummary+headingCost):
		return reasonJust
	case self && (now.Before(c.backoff.pausedUntil) || now.Before(c.backoff.retryAt) && c.backoff.failures > 1):
		return reasonCooling
	case tokens == 0:
		return reasonShort
	case tokens < summarize.MinSummary+headingCost:
		return reasonLittle
	}
	return ""
}
