package channel

import (
	"context"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// How a conversation is opened, and opened again when the settings have changed.

// load opens the conversation with whom it has to answer now. It does so again when the
// settings have changed, if nothing is being summarized; opened reports whether it did.
func (c *conversation) load(ctx context.Context) (opened bool, err error) {
	open := c.opening(ctx)
	c.do(func(e *compactor.Compactor) {
		if opened = e == nil || !e.Busy(); opened {
			err = open()
		}
	})
	return opened && err == nil, err
}

// opening returns what opens the conversation with the settings of now, which is the loop's
// to do.
func (c *conversation) opening(ctx context.Context) (open func() error) {
	s := service{rules: c.hub.rules.Load(), agent: c.hub.o.Agent(c.name)}
	if s.agent.Worker != nil {
		s.agent.Worker = &switched{Model: s.agent.Worker, c: c}
	}
	if s.agent.Fallback != nil {
		s.agent.Fallback = &switched{Model: s.agent.Fallback, c: c}
	}
	s.policy = &policy{file: s.agent.Policy, log: c.log}
	s.window = lookAt(ctx, s.agent.Model)
	s.tools = toolset(c.records, memory.ToolOptions{
		Turn:     c.turnSeq,
		Budget:   func() int { return s.window.last() / searchShare },
		OnMemory: func(m memory.Memory) { c.remembered(m.ID, m.Kind, m.Content) },
	}, c.lookAtWindow)
	return func() (err error) {
		if err = s.policy.read(ctx, c.records); err != nil {
			return err
		}
		if s.engine, err = s.agent.open(ctx, s.window, c.records, s.tools, c.engineOptions(s.policy)); err == nil {
			c.service = s
			c.publish()
		}
		return err
	}
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
// it ends with the settings it was started with, and wakes the conversation.
func (c *conversation) renew(ctx context.Context) error {
	if ask(c, func(*compactor.Compactor) bool { return c.rules == c.hub.rules.Load() }) {
		return nil
	}
	opened, err := c.load(ctx)
	if opened {
		c.check()
	}
	return err
}
