package channel

import (
	"context"
	"time"

	"cairn/channel/report"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Model usage is counted in memory and written with the next answer, or when the conversation becomes quiet or
// closes. So it costs a turn nothing, and a crash loses at most the latest numbers.

func (c *conversation) addUsage(all ...store.Usage) {
	c.hub.locked(func() { c.usage = append(c.usage, all...) })
}

// takeUsage returns the usage to write now. If the write fails, the caller must add it again.
func (c *conversation) takeUsage() (all []store.Usage) {
	c.hub.locked(func() {
		all = c.usage
		c.usage = nil
	})
	return all
}

// count records one model request. It does not block.
func (c *conversation) count(kind, model string, u llm.Usage) {
	money := c.hub.access.Rules().Money
	price, _ := money.Prices.Of(model)
	used := store.Usage{Day: store.Day(time.Now()), Kind: kind, Model: model, Long: price.IsLong(int64(u.Prompt)), Requests: 1, Tokens: prices.Tokens{
		Input: int64(u.Prompt), Cached: int64(u.Cached), Written: int64(u.Written), Output: int64(u.Completion),
	}}
	c.addUsage(used)
	if c.hub.o.Counted != nil {
		c.hub.o.Counted(used)
	}
	if o, ok := c.connector.(Observer); ok && u != (llm.Usage{}) {
		var e report.Expense
		e.Add(used, money.Prices)
		o.Used(c.name, kind, model, e)
	}
	c.hub.access.Count(used)
}

// flushUsage writes what no answer has written.
func (c *conversation) flushUsage() {
	all := c.takeUsage()
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.hub.ctx), 5*time.Second)
	defer cancel()
	if err := c.records.Turns().AddUsage(ctx, all); err != nil {
		c.addUsage(all...) // the next answer writes it
		c.log.Debug("save_usage_failed", "error", err)
	}
}

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
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.Open = len(h.open)
	s.Stuck = len(h.stuck)
	for _, c := range h.open {
		if c.sender.failing.On() {
			s.Refused++
		}
	}
	return s
}
