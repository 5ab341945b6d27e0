package channel

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"cairn/llm"
)

// Limits on turns of a person per minute, and on model calls: per conversation and hour, and per turn.
// Every attempt counts, including failed ones. The counts are in memory only: a crash loop cannot spend
// without end, because a turn is tried at most twice.

const (
	// maxRequests is the most requests for one turn: maxCalls, plus twice that for retries when servers fail.
	maxRequests = 3 * maxCalls

	// turnsShare of an hour's calls, 1/4, are for turns only: summaries are then made without a model, and again later.
	turnsShare = 4
)

// recent records the latest times of events, by key. It is safe for concurrent use.
type recent struct {
	mu    sync.Mutex             // guards everything below
	times map[string][]time.Time // oldest first
	swept time.Time
}

// take returns whether there were fewer than most events of a key in the last span, and otherwise how long
// to wait. If counts is set, it counts one more.
func (r *recent) take(most int, span time.Duration, key string, counts bool) (wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	times := r.withinLocked(span, key, now)
	if len(times) >= most {
		return times[len(times)-most].Add(span).Sub(now), false
	}
	if counts && r.times == nil {
		r.times = make(map[string][]time.Time)
	}
	if counts {
		r.times[key] = append(times, now)
	}
	return 0, true
}

// count returns how many events of a key there were in the last span.
func (r *recent) count(span time.Duration, key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.withinLocked(span, key, time.Now()))
}

// withinLocked returns the times of a key within the last span and forgets older ones.
func (r *recent) withinLocked(span time.Duration, key string, now time.Time) []time.Time {
	old := func(t time.Time) bool { return now.Sub(t) >= span }
	if old(r.swept) {
		r.swept = now
		maps.DeleteFunc(r.times, func(_ string, times []time.Time) bool { return old(times[len(times)-1]) })
	}
	times := slices.DeleteFunc(r.times[key], old)
	if len(times) > 0 {
		r.times[key] = times
	} else {
		delete(r.times, key)
	}
	return times
}

// takeTurn counts a turn for each person in who and reports whether at least one had a turn left. tell is
// true if the people should get a notice that none is left: only if they asked, and once a minute.
func (h *Hub) takeTurn(who []string, asked bool) (ok, tell bool) {
	limit := h.rules.Load().TurnsPerMinute
	if limit <= 0 || len(who) == 0 {
		return true, false
	}
	for _, id := range who {
		_, left := h.turns.take(limit, time.Minute, id, true)
		ok = ok || left
	}
	for _, id := range who { // none of them has any left
		if !ok && asked {
			_, first := h.turnNotices.take(1, time.Minute, id, true)
			tell = tell || first
		}
	}
	return ok, tell
}

// callsPerHour returns how many calls an hour may have, for turns or for summaries; 0: no limit.
func (c *conversation) callsPerHour(turn bool) int {
	most := c.hub.rules.Load().CallsPerHour
	if !turn {
		most -= most / turnsShare
	}
	return most
}

// calls returns how many calls there were in the last hour.
func (c *conversation) calls() int { return c.hub.calls.count(time.Hour, c.account()) }

// spendOn returns why there may be no call for a turn or for a summary now, and counts one if it may be and
// counts is set. At most once an hour it logs that the limit is reached.
func (c *conversation) spendOn(turn, counts bool) error {
	most := c.callsPerHour(turn)
	if most <= 0 {
		return nil
	}
	wait, ok := c.hub.calls.take(most, time.Hour, c.account(), counts)
	if ok {
		return nil
	}
	if _, first := c.hub.callNotes.take(1, time.Hour, c.account(), true); first {
		c.log.Warn("calls_per_hour_reached", "effect", "summaries are made without the model; at the limit answers stop",
			"limit", c.callsPerHour(true), "calls", c.calls())
	}
	return &spentError{"calls_per_hour", fmt.Sprintf("This conversation has reached its hourly limit of model calls, so I cannot answer now. Your message is saved; ask again in %s.", llm.InMinutes(wait))}
}

// spendOnSummary is spendOn for a summary.
func (c *conversation) spendOnSummary(counts bool) error {
	if c.paused(c.hub.ctx) {
		return errPaused
	}
	if err := c.hub.afford(time.Now()); err != nil {
		return err
	}
	return c.spendOn(false, counts)
}

// callsWords describes how many calls there were; "" if there is no limit.
func (c *conversation) callsWords() string {
	most := c.callsPerHour(true)
	if most <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d in the last hour", c.calls(), most)
}

// spending returns the function called before each model call of a turn; its error stops the call.
// A turn that has started may finish, even if that spends more than a budget allows.
func (c *conversation) spending(made *int) func() error {
	return func() error {
		if *made >= maxRequests {
			return llm.ErrTooManyCalls
		}
		var err error
		if *made == 0 {
			err = c.hub.afford(time.Now())
		}
		if err == nil {
			err = c.spendOn(true, true)
		}
		if err == nil {
			*made++
		}
		return err
	}
}
