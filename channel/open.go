package channel

import (
	"context"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// How a conversation is opened, and opened again when the settings have changed.

// load opens the conversation with whom it has to answer now. It does so again when the
// settings have changed, if nothing is being summarized; opened tells.
func (c *conversation) load(ctx context.Context) (opened bool, err error) {
	open, err := c.opening(ctx)
	if err != nil {
		return false, err
	}
	c.do(func(e *compactor.Compactor) {
		if opened = e == nil || !e.Busy(); opened {
			err = open()
		}
	})
	return opened && err == nil, err
}

// opening reads the settings, and returns what opens the conversation with them, which is the
// loop's to do.
func (c *conversation) opening(ctx context.Context) (open func() error, err error) {
	agent := c.hub.o.Agent(c.name)
	if agent.Worker != nil {
		agent.Worker = switched{agent.Worker, c}
	}
	if agent.Fallback != nil {
		agent.Fallback = switched{agent.Fallback, c}
	}
	p := &policy{file: agent.Policy, log: c.log}
	if err := p.read(ctx, c.records); err != nil {
		return nil, err
	}
	w := lookAt(ctx, agent.Model)
	tools := toolset(c.records, memory.ToolOptions{
		Turn:     c.runningTurn,
		Budget:   func() int { return w.last() / searchShare },
		OnMemory: func(m memory.Memory) { c.remembered(m.ID, m.Kind, m.Content) },
	}, c.lookAtWindow)
	o := c.engineOptions(p)
	return func() error {
		engine, err := agent.open(ctx, w, c.records, tools, o)
		if err != nil {
			return err
		}
		again := c.engine != nil
		c.mu.Lock()
		c.agent, c.engine, c.policy, c.window = agent, engine, p, w
		c.changedLocked()
		c.mu.Unlock()
		c.tools, c.unfit, c.inWords, c.empty = tools, nil, false, engine.History().Next() == 1
		if c.publish(); !again {
			close(c.opened)
		}
		return nil
	}, nil
}

// engineOptions is what ties the engine to the conversation.
func (c *conversation) engineOptions(p *policy) compactor.Options {
	o := compactor.Options{
		Slots: c.hub.slots, Log: c.log, Policy: p.get, Start: c.start,
		Spend:  func() error { return c.spendOn(false) },
		Afford: c.affordsSummary,
		Spent:  func(model string, u llm.Usage) { c.count(memory.ForSummary, model, u) },
		After: func(e compactor.Event) {
			c.publish()
			c.happened(e, p.get().Notify)
			if e.State == compactor.EventApplied && e.Trigger == compactor.OnRepair {
				c.hub.threadsChanged(c.name)
			}
		},
		Saved: func(saved []compactor.MemoryDraft) {
			for _, m := range saved {
				c.remembered(m.ID, m.Kind, m.Content)
			}
		},
	}
	if before := c.hub.o.Before; before != nil {
		o.Before = func(e compactor.Event) error { return before(c.name, e) }
	}
	return o
}

// renew has somebody else answer, if the settings say so by now. It is called between
// turns, when what is on disk is all there is. A summary that is being written is waited for:
// it ends with the settings it began with.
func (c *conversation) renew(ctx context.Context) error {
	c.mu.Lock()
	due := c.outdated
	c.outdated = false
	c.mu.Unlock()
	if !due {
		return nil
	}
	opened, err := c.load(ctx)
	if opened {
		c.check()
		return nil
	}
	c.mu.Lock()
	c.outdated = true
	c.mu.Unlock()
	return err
}

// current returns who answers, when the conversation is open.
func (c *conversation) current(ctx context.Context) (Agent, error) {
	err := c.wait(ctx, func() (bool, error) {
		select {
		case <-c.opened:
			return true, nil
		default:
			return false, c.err
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent, err
}
