package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"cairn/store"
)

// What several processes of the bot count together. Turns of a person are counted in the database, because any process may answer one.
// Model calls of a conversation are counted by its owner alone, in memory; the database has them for the next owner. What models cost is
// in the database anyway, and each process reads that again every second: a check cannot wait for the database, since some run in the
// loop of a conversation.

// Others counts a turn of each person who has one left, in all processes, and reports whether there is one.
type Others func(ctx context.Context, who []string, most int, span time.Duration) (ok bool, err error)

// Share makes the control count together with other processes. Call it before all other methods.
func (c *Control) Share(others Others) { c.others = others }

// unsavedCalls are the model calls that the database lacks. It is safe for concurrent use.
type unsavedCalls struct {
	mu sync.Mutex               // guards of
	of map[string]store.Counted // by account; Left is not used
}

func (u *unsavedCalls) add(account string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = make(map[string]store.Counted)
	}
	u.of[account] = store.Counted{N: u.of[account].N + n, Left: time.Hour}
}

func (u *unsavedCalls) take() (made map[string]store.Counted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	made = u.of
	u.of = nil
	return made
}

// SaveCalls has save write the model calls that the database lacks; what cannot be written is part of the next call. They count from
// then on, so it must be called about every second.
func (c *Control) SaveCalls(save func(made map[string]store.Counted) error) error {
	made := c.unsaved.take()
	if len(made) == 0 {
		return nil
	}
	err := save(made)
	if err != nil {
		for account, calls := range made {
			c.unsaved.add(account, calls.N)
		}
	}
	return err
}

// Restore makes the calls count that the database has, if these are more than this process knows of: another one has made some.
func (c Calls) Restore(made []store.Counted) {
	var ends []time.Time
	for _, one := range made {
		ends = append(ends, slices.Repeat([]time.Time{time.Now().Add(one.Left)}, one.N)...)
	}
	c.control.recent.restore(c.key(), ends)
}

// restore replaces the events of a key if there are more; ends is when each no longer counts, oldest first.
func (r *recent) restore(key string, ends []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	known := slices.DeleteFunc(r.ends[key], func(end time.Time) bool { return !end.After(now) })
	r.ends[key] = known
	if len(ends) > len(known) {
		r.ends[key] = ends
	}
}

// spending is what the bot has spent this month: what was in the database when it was read last, and what this process adds. It is safe
// for concurrent use.
type spending struct {
	mu      sync.Mutex    // guards below
	stored  []store.Usage // of this month, as the database was read last
	read    time.Time     // when that was; zero: at the start
	own     []store.Usage // of this process, which may be missing in stored
	written []store.Usage // the part of own that is in the database now
}

func (s *spending) all() []store.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.stored, s.own)
}

func (s *spending) add(u store.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = addUsed(s.own, u)
}

// Written notes that usage which was counted is in the database.
func (c *Control) Written(all ...store.Usage) {
	if c.others == nil { // nothing reads it from there
		return
	}
	s := &c.spending
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range all {
		s.written = addUsed(s.written, u)
	}
}

// lateUsage is how long usage of a day may be written after its end.
const lateUsage = time.Hour

// Reread makes budgets count what all processes have used. read returns the sums since a day. What is written while it reads may count
// twice until the next time, and never not at all.
func (c *Control) Reread(read func(since string) ([]store.Usage, error)) error {
	s := &c.spending
	now := time.Now()
	since := MonthStart(now)
	s.mu.Lock()
	written := slices.Clone(s.written)
	if !s.read.IsZero() {
		since = max(since, store.Day(s.read.Add(-lateUsage))) // earlier days do not change any more
	}
	s.mu.Unlock()
	all, err := read(since)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	earlier := slices.DeleteFunc(s.stored, func(u store.Usage) bool { return u.Day >= since || u.Day < MonthStart(now) })
	s.stored = append(earlier, all...)
	s.read = now
	s.own = lessUsed(s.own, written)
	s.written = lessUsed(s.written, written)
	return nil
}
