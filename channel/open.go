package channel

import (
	"context"
	"errors"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// How a conversation is opened, and opened anew when the settings have changed.

// errWorking is why a conversation is not opened anew just now.
var errWorking = errors.New("a summary is being written")

// load opens the conversation with whom it has to answer now. It does so anew when
// the settings have changed; what was opened before lands nothing from there on, for
// nobody would see it, and is closed then.
func (c *conversation) load(ctx context.Context) error {
	agent := c.hub.o.Agent(c.name)
	if agent.Worker != nil {
		agent.Worker = switched{agent.Worker, c}
	}
	if agent.Fallback != nil {
		agent.Fallback = switched{agent.Fallback, c}
	}
	p := &policy{file: agent.Policy, log: c.log}
	if err := p.read(ctx, c.records); err != nil {
		return err
	}
	w := lookAt(ctx, agent.Model)
	tools := toolset(c.records, memory.ToolOptions{
		Turn: func() int64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.turn
		},
		Budget:   func() int { return w.last() / searchShare },
		OnMemory: func(m memory.Memory) { c.remembered(m.ID, m.Kind, m.Content) },
	}, c.lookAtWindow)
	o := compactor.Options{
		Slots: c.hub.slots, Log: c.log, Policy: p.get,
		Spend:  func() error { return c.spendOn(false) },
		Afford: c.affordsSummary,
		Spent:  func(model string, u llm.Usage) { c.count(memory.ForSummary, model, u) },
		After:  func(e compactor.Event) { c.happened(e, p.get().Notify) },
		Saved: func(saved []compactor.MemoryDraft) {
			for _, m := range saved {
				c.remembered(m.ID, m.Kind, m.Content)
			}
		},
	}
	if before := c.hub.o.Before; before != nil {
		o.Before = func(e compactor.Event) error { return before(c.name, e) }
	}
	old := c.engine
	if old != nil && !c.retire(old) {
		return errWorking
	}
	engine, err := agent.open(ctx, w, c.records, tools, o)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.agent, c.engine, c.policy, c.window, c.retired = agent, engine, p, w, false
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	c.tools, c.unfit, c.inWords, c.empty = tools, nil, false, engine.History().Next() == 1
	if old != nil {
		old.Close()
		return nil
	}
	close(c.opened)
	return nil
}

// retire has nothing begin from here on, if nothing is at work. Whoever asks for the
// engine waits for the next one.
func (c *conversation) retire(engine *compactor.Compactor) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = c.retired || engine.Retire()
	return c.retired
}

// renew has somebody else answer, if the settings say so by now. It is called between
// turns, when what is on disk is all there is. A summary or recap that is being written is
// waited for: it ends with the settings it began with.
func (c *conversation) renew(ctx context.Context) error {
	c.mu.Lock()
	due := c.outdated
	c.outdated = false
	c.mu.Unlock()
	if !due {
		return nil
	}
	var err error
	if !c.engine.Busy() {
		if err = c.load(ctx); err == nil {
			c.engine.Check(ctx)
			return nil
		}
	}
	if errors.Is(err, errWorking) { // it began meanwhile
		err = nil
	}
	c.mu.Lock()
	c.outdated = true
	c.mu.Unlock()
	return err
}

// current returns who answers, and the engine for calls that are safe from any goroutine.
func (c *conversation) current(ctx context.Context) (Agent, *compactor.Compactor, error) {
	err := c.wait(ctx, func() (bool, error) {
		select {
		case <-c.opened:
			if c.retired {
				return false, c.err
			}
			return true, nil
		default:
			return false, c.err
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent, c.engine, err
}
