package channel

import (
	"context"
	"sync"
	"time"

	"cairn/llm"
	"cairn/memory"
)

// What models were used for is counted in memory and written with the next answer, or by
// itself when the conversation is quiet and when it closes. So it costs a turn nothing,
// and a crash loses the last numbers at most.

// pendingUsage is what models were used for and the database does not know yet.
type pendingUsage struct {
	mu  sync.Mutex // guards all
	all []memory.Usage
}

// entryLocked is the entry of a day, a kind and a model.
func (p *pendingUsage) entryLocked(day, kind, model string) *memory.Usage {
	for i := range p.all {
		if u := &p.all[i]; u.Day == day && u.Kind == kind && u.Model == model {
			return u
		}
	}
	p.all = append(p.all, memory.Usage{Day: day, Kind: kind, Model: model})
	return &p.all[len(p.all)-1]
}

func (p *pendingUsage) add(day, kind, model string, one llm.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entryLocked(day, kind, model).Add(one)
}

// take returns what is to be written now. If that fails, it must be put back.
func (p *pendingUsage) take() []memory.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return all
}

func (p *pendingUsage) putBack(all []memory.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range all {
		p.entryLocked(u.Day, u.Kind, u.Model).AddAll(u)
	}
}

// count notes one request to a model. It does not block.
func (c *conversation) count(kind, model string, u llm.Usage) {
	now := time.Now()
	c.usage.add(memory.Day(now), kind, model, u)
	c.hub.metrics.use(kind, model, u)
	c.hub.budget.add(now, model, u)
	c.hub.checkBudgets(now)
	c.hub.checkPrice(model)
}

// flushUsage writes what no answer took with it.
func (c *conversation) flushUsage(ctx context.Context) {
	all := c.usage.take()
	if len(all) == 0 {
		return
	}
	if err := c.records.AddUsage(ctx, all); err != nil {
		c.usage.putBack(all) // the next answer takes it
		c.log.Debug("save_usage_failed", "error", err)
	}
}

// flushTimeout bounds the last write of a conversation that closes.
const flushTimeout = 5 * time.Second

func (c *conversation) flushLast() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.hub.ctx), flushTimeout)
	defer cancel()
	c.flushUsage(ctx)
}
