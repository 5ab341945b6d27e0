package channel

import (
	"sync"

	"cairn/internal/observe"
)

// Stats are the numbers of a hub. Counters start with the hub.
type Stats struct {
	Open  int // conversations in memory
	Stuck int // how many of them currently cannot continue, for example because the disk refuses writes

	Refused int   // conversations whose next reply could not be sent and is being retried
	Dropped int64 // pieces of replies that were given up

	Turns   int64 // turns that were answered
	Failed  int64 // turns that ended with a sentence on why there is no answer
	Failing int64 // how many turns failed since the last answer
}

// Stats returns the current numbers.
func (h *Hub) Stats() Stats {
	s := h.counters.read()
	s.Stuck = h.incident.size()
	open := h.list()
	s.Open = len(open)
	for _, c := range open {
		if c.sender.failing.On() {
			s.Refused++
		}
	}
	return s
}

// counters are the numbers that Stats returns, without what is counted when it is read. It is safe for concurrent use.
type counters struct {
	mu    sync.Mutex // guards stats
	stats Stats
}

// ended counts a turn that was answered or failed; outcome is one of observe.Outcomes.
func (c *counters) ended(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if outcome == observe.Failed {
		c.stats.Failed++
		c.stats.Failing++
		return
	}
	c.stats.Turns++
	c.stats.Failing = 0
}

// dropped counts a piece that was given up.
func (c *counters) dropped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Dropped++
}

func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
