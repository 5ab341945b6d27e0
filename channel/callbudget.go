package channel

import (
	"fmt"
	"sync"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

// What models may cost: how often they are asked for a conversation in an hour, and for
// a turn. Each attempt counts, also one that fails. It is kept in memory alone: a crash
// loop cannot spend without end, for a turn is begun twice at most.

// maxRequests is how often models are asked for one turn at most: maxCalls, and twice as
// often again where servers fail.
const maxRequests = 3 * maxCalls

// turnsShare is the part of an hour's calls that is kept for turns: 1/4. Where the rest
// is used up, summaries are made without a model, and made again later.
const turnsShare = 4

// callBudget counts the calls of each conversation in the last hour, to the minute.
type callBudget struct {
	mu    sync.Mutex // guards everything below
	began time.Time  // an hour before the first call: minutes count from here, whatever clocks are set to
	hours map[string]*hour
	swept int64 // the minute
}

// hour is what one conversation has spent.
type hour struct {
	minutes [60]int // calls, by the minute modulo 60
	newest  int64   // the minute it was moved on to
	reached bool    // the limit is, and the log knows
}

// hourLocked is a conversation's hour, moved on to now. Silent ones are forgotten.
func (l *callBudget) hourLocked(name string, now time.Time) *hour {
	if l.began.IsZero() {
		l.began = now.Add(-time.Hour) // so that no minute in use is negative
	}
	minute := int64(now.Sub(l.began) / time.Minute)
	if l.hours == nil {
		l.hours = make(map[string]*hour)
	}
	if minute > l.swept {
		l.swept = minute
		for other, h := range l.hours {
			if minute-h.newest >= 60 && !h.reached { // else the log waits for the end
				delete(l.hours, other)
			}
		}
	}
	h := l.hours[name]
	if h == nil {
		h = &hour{newest: minute}
		l.hours[name] = h
	}
	for m := max(h.newest+1, minute-59); m <= minute; m++ {
		h.minutes[m%60] = 0
	}
	h.newest = max(h.newest, minute)
	return h
}

func (h *hour) calls() (n int) {
	for _, calls := range h.minutes {
		n += calls
	}
	return n
}

// spend counts a call if there were fewer than most in the last hour.
func (l *callBudget) spend(name string, most int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hourLocked(name, now)
	if h.calls() >= most {
		return false
	}
	h.minutes[h.newest%60]++
	return true
}

// calls tells how many there were in the last hour.
func (l *callBudget) calls(name string, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hourLocked(name, now).calls()
}

// opens tells when there will have been fewer than most in the last hour.
func (l *callBudget) opens(name string, most int, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hourLocked(name, now)
	left := h.calls()
	for m := h.newest - 59; m <= h.newest; m++ {
		if left -= h.minutes[m%60]; left < most {
			return l.began.Add(time.Duration(m+60) * time.Minute)
		}
	}
	return now
}

// mark notes whether the limit is reached and reports whether that is news.
func (l *callBudget) mark(name string, reached bool, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hourLocked(name, now)
	news = h.reached != reached
	h.reached = reached
	return news
}

// spentError says that a conversation has had its calls of this hour.
type spentError struct{ wait time.Duration }

func (e *spentError) Error() string { return "calls_per_hour is reached" }
func (e *spentError) Unwrap() error { return compactor.ErrSpent }

// sentence is for people.
func (e *spentError) sentence() string {
	return fmt.Sprintf("This conversation has reached its hourly limit of model calls, so I cannot answer now. Your message is saved; ask again in %s.", llm.InMinutes(e.wait))
}

// callsLimit is how many calls there may be in an hour, and how many of them for
// summaries; ok is false if there is no limit.
func (c *conversation) callsLimit() (turns, summaries int, ok bool) {
	turns = c.hub.rules.Load().CallsPerHour
	return turns, turns - turns/turnsShare, turns > 0
}

// spendOn counts a call for a turn, or for a summary.
func (c *conversation) spendOn(turn bool) error {
	if !turn {
		if err := c.hub.afford(time.Now()); err != nil {
			return err
		}
	}
	most, summaries, limited := c.callsLimit()
	if !limited {
		return nil
	}
	if !turn {
		most = summaries
	}
	now := time.Now()
	if c.hub.calls.spend(c.name, most, now) {
		if c.hub.calls.calls(c.name, now) < max(summaries/2, 2) && c.hub.calls.mark(c.name, false, now) { // not as soon as one call has expired
			c.log.Info("calls_available")
		}
		return nil
	}
	c.reached(now)
	return &spentError{wait: c.hub.calls.opens(c.name, most, now).Sub(now)}
}

// reached tells the log, once per incident.
func (c *conversation) reached(now time.Time) {
	if c.hub.calls.mark(c.name, true, now) {
		c.log.Warn("calls_per_hour_reached", "effect", "summaries are made without the model; at the limit answers stop",
			"limit", c.hub.rules.Load().CallsPerHour, "calls", c.hub.calls.calls(c.name, now))
	}
}

// affordsSummary reports whether a summary may be made with a model.
func (c *conversation) affordsSummary() bool {
	_, summaries, limited := c.callsLimit()
	now := time.Now()
	if c.hub.afford(now) != nil {
		return false
	}
	if !limited || c.hub.calls.calls(c.name, now) < summaries-min(3, summaries/4) { // room for more than the first call of it
		return true
	}
	c.reached(now)
	return false
}

// callsWords says how many calls there were; "" where there is no limit.
func (c *conversation) callsWords() string {
	most, _, limited := c.callsLimit()
	if !limited {
		return ""
	}
	return fmt.Sprintf("%d of %d in the last hour", c.hub.calls.calls(c.name, time.Now()), most)
}

// lastCall reports whether the next call of a turn is the last one there may be.
func (c *conversation) lastCall() bool {
	if c.hub.afford(time.Now()) != nil {
		return true
	}
	most, _, limited := c.callsLimit()
	return limited && c.hub.calls.calls(c.name, time.Now()) >= most-1
}

// spending returns what a turn asks before each call.
func (c *conversation) spending(made *int) func() error {
	return func() error {
		if *made >= maxRequests {
			return llm.ErrTooManyCalls
		}
		if *made == 0 { // a turn that has begun may end, without further tools: see lastCall
			if err := c.hub.afford(time.Now()); err != nil {
				return err
			}
		}
		if err := c.spendOn(true); err != nil {
			return err
		}
		*made++
		return nil
	}
}
