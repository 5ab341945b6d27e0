package compactor

import (
	"fmt"
	"slices"
	"time"
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

// wish is what somebody wants.
type wish struct {
	trigger Trigger
	focus   string
	ended   func(Event) // told how it ended; nil: nobody wants to know
}

// Compact sums up everything older than the newest messages, at somebody's
// wish, keeping what focus asks for. It does not wait for the summary. The event
// says that it started, or why there is nothing to do. Where something else is
// running, a person's wish (OnManual) is scheduled: it begins when that has ended, and
// is forgotten if the process ends before.
func (c *Compactor) Compact(trigger Trigger, focus string) Event {
	return c.grant(wish{trigger: trigger, focus: focus})
}

// CompactThen is Compact, and tells ended, once, how what was started or scheduled
// has ended: landed, failed, as a noop that says why nothing was done, or staged, if it
// is ready and has to wait until there is room. ended must not block.
func (c *Compactor) CompactThen(trigger Trigger, focus string, ended func(Event)) Event {
	return c.grant(wish{trigger: trigger, focus: focus, ended: ended})
}

func (c *Compactor) grant(w wish) Event {
	if w.trigger == OnManual {
		c.forgive()
	}
	for {
		j, reason, scheduled := c.plan(w)
		if scheduled {
			e := c.eventOf(w, EventScheduled, "")
			c.notify(e)
			return e
		}
		if j == nil {
			return c.refuse(w, reason)
		}
		if err := c.allow(j); err != nil {
			return c.refuse(w, err.Error())
		}
		event := j.event(EventStarted)
		event.Set = slices.DeleteFunc(c.waiting(), func(row Compaction) bool { return row.Trigger != OnPrepare })
		if c.start(j) {
			return event
		} // another one was quicker
	}
}

// eventOf is an event of a wish of which no more is known.
func (c *Compactor) eventOf(w wish, state EventState, reason string) Event {
	return Event{State: state, Trigger: w.trigger, Kind: Leaf, Window: c.o.Window(), Error: reason}
}

// refuse tells why nothing was planned. What is ready and waits is shown all the same.
func (c *Compactor) refuse(w wish, reason string) Event {
	little := reason == reasonShort || reason == reasonLittle || reason == reasonJust
	if little && c.apply(c.ctx, demand{share: 1}) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.last
	}
	e := c.eventOf(w, EventNoop, reason)
	c.notify(e)
	return e
}

// plan plans what is wished for, schedules it, or says why there is nothing to do.
func (c *Compactor) plan(w wish) (j *job, reason string, scheduled bool) {
	s, p, window, now := c.h.snapshot(), c.o.Policy(), c.o.Window(), c.o.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lifted = c.lifted || w.trigger == OnManual // also if there is nothing to do, or not now
	if c.busy == nil {
		j, reason = c.planWishLocked(s, w, p, window, now)
		return j, reason, false
	}
	reason = c.whyNotScheduledLocked(s, w, p, window, now)
	if reason == "" {
		c.wished = &w
	}
	return nil, reason, reason == ""
}

// planWishLocked plans what is wished for, or says why there is nothing to do.
func (c *Compactor) planWishLocked(s snapshot, w wish, p Policy, window int, now time.Time) (*job, string) {
	s = c.aheadLocked(s)
	sp := planSpan(s, s.lineCost+1, p.KeepLastN, p.tail(c.Budget()))
	switch {
	case c.ctx.Err() != nil:
		return nil, reasonEnd
	case w.trigger == OnSelf && len(sp.lines) > 0 && s.head.Spares(sp.from, sp.to):
		return nil, reasonSpared
	}
	if reason := c.whyNotLocked(w.trigger, p, s.turnSince(c.landedAt), sp.tokens, now); reason != "" {
		return nil, reason
	}
	j := c.newJob(w.trigger, Leaf, 0, sp.tokens, p, window, c.noModel())
	if j.ended = w.ended; w.focus != "" {
		j.row.Focus = w.focus
	}
	c.overNarrowedLocked(j, sp)
	return j, ""
}

// whyNotScheduledLocked says why a wish cannot wait for the end of what is running: it
// is a model's, which may ask again, or another one waits, or nothing will be left to do.
func (c *Compactor) whyNotScheduledLocked(s snapshot, w wish, p Policy, window int, now time.Time) string {
	running := c.busy.row
	switch {
	case w.trigger != OnManual:
		return reasonRunning
	case c.wished != nil:
		return reasonScheduled
	case running.Trigger == OnPrepare:
		return "" // it is shown then, at least
	}
	rest := s.with(append(c.staged[:len(c.staged):len(c.staged)], running))
	sp := planSpan(rest, rest.lineCost+1, p.KeepLastN, p.tail(c.Budget()))
	reason := c.whyNotLocked(w.trigger, p, s.turnSince(c.landedAt), sp.tokens, now)
	if reason != "" && running.Kind == Leaf && running.Trigger != OnHeal {
		return fmt.Sprintf("%s, of messages #%d to #%d", reasonRunning, running.From, running.To)
	}
	return reason
}

// following is the job that is next when one has ended: what somebody wished for
// meanwhile, then what is due. The worker's goroutine ends with nil.
func (c *Compactor) following() *job {
	for {
		s, p, window, now := c.h.snapshot(), c.o.Policy(), c.o.Window(), c.o.Now()
		c.mu.Lock()
		w := c.wished
		c.wished = nil
		if w == nil {
			c.busy = c.nextLocked()
			if c.busy == nil {
				c.sleepLocked()
				close(c.idle)
			}
			j := c.busy
			c.mu.Unlock()
			return j
		}
		j, reason := c.planWishLocked(s, *w, p, window, now)
		if j != nil {
			c.busy = j
			c.mu.Unlock()
			return j
		}
		c.mu.Unlock()
		if e := c.refuse(*w, reason); w.ended != nil {
			w.ended(e)
		}
	}
}

// whyNotLocked says why a wish is not granted; "": it is. People may always ask. A
// model may once a turn, where compaction is switched on, and once more after a failure.
func (c *Compactor) whyNotLocked(trigger Trigger, p Policy, turnSince bool, tokens int, now time.Time) string {
	self := trigger == OnSelf
	switch {
	case self && !p.Enabled:
		return reasonSelfOff
	case c.landedAt > 0 && !turnSince && (self || tokens < minSummary+headingCost):
		return reasonJust
	case self && (now.Before(c.pace.pausedUntil) || now.Before(c.pace.retryAt) && c.pace.failures > 1):
		return reasonCooling
	case tokens == 0:
		return reasonShort
	case tokens < minSummary+headingCost:
		return reasonLittle
	}
	return ""
}

// begun notes a job's row, by which whoever waits for its end is found.
func (c *Compactor) begun(j *job, row int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.row.ID = row; j.ended != nil {
		c.awaited[row] = j
	}
}

// over tells whoever waits for the end of a job, once. j may be nil.
func (c *Compactor) over(j *job, e Event) {
	if j == nil {
		return
	}
	c.mu.Lock()
	ended := j.ended
	j.ended = nil
	delete(c.awaited, j.row.ID)
	c.mu.Unlock()
	if ended != nil {
		ended(e)
	}
}

// unshown tells whoever waits for a job that its summary is ready and cannot land yet.
func (c *Compactor) unshown(j *job, row Compaction) {
	c.mu.Lock()
	waits := !c.landing && slices.ContainsFunc(c.staged, func(r Compaction) bool { return r.ID == row.ID })
	c.mu.Unlock()
	if waits {
		c.over(j, eventOf(row, EventStaged, j.window))
	}
}
