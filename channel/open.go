package channel

import (
	"cmp"
	"context"
	"sync/atomic"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

var _ compactor.Records = memory.Records{}

// How a conversation is opened, and reopened when the settings have changed.

// load opens the conversation with its current agent, or opens it again unless a summary is being written.
func (c *conversation) load(ctx context.Context) (opened bool, err error) {
	rereads := ask(&c.loop, func(*compactor.Compactor) int { return c.runs.rereads })
	open, err := c.opening(ctx)
	if err != nil {
		return false, err
	}
	c.do(func(e *compactor.Compactor) {
		opened = e == nil || !e.Busy()
		if opened {
			err = open()
		}
		if rereads != c.runs.rereads { // what it read may have changed since
			c.rules = nil
		}
	})
	return opened && err == nil, err
}

// opening returns a function for the loop that opens the conversation with the current settings.
func (c *conversation) opening(ctx context.Context) (open func() error, err error) {
	if err := c.restoreCalls(ctx); err != nil {
		return nil, err
	}
	s := service{rules: c.access.Rules()}
	s.filter.withheld = make(map[string]bool)
	s.elsewhere, err = c.records.Store().Upkeep().WrittenElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	s.agent, err = c.agents().Of(ctx, c.records)
	if err != nil {
		return nil, err
	}
	s.policy = &policy{file: s.agent.Policy}
	s.window = newWindow(ctx, s.agent.Model)
	s.pictures = pictures{records: c.records, log: c.log, window: s.window, unfit: make(map[int64]bool)}
	s.tools, err = s.agent.tools(ctx, c.records, memory.ToolOptions{
		Turn:     c.turnSeq,
		Budget:   func() int { return s.window.last() / memory.SearchShare },
		Prompt:   func() string { return shownToModel(&c.loop, c.turnSeq(), s.agent) },
		OnMemory: c.savedInTurn,

		Everywhere: c.everywhereForModel(c.turnSeq),
	}, toolHosts{
		approvals: &c.approvals, tasks: c.tasks,
		context: &contextTool{voice: &c.voice, loop: &c.loop, agent: s.agent},
	})
	if err != nil {
		return nil, err
	}
	o := c.compaction(&s)
	return func() error {
		left, err := s.policy.read(ctx, c.records)
		if err != nil {
			return err
		}
		for _, e := range left {
			c.log.Warn("channel_setting_ignored", "problem", e.Error())
		}
		engine, err := compactor.Open(ctx, s.agent.engine(s.window, s.tools, o))
		if err == nil {
			c.service = s
			c.engine = engine
			c.code.Store(&s.agent.Language)
			c.publish(c.engine)
		}
		return err
	}, nil
}

// compaction returns how the conversation is summarized with the settings of a service.
func (c *conversation) compaction(s *service) compactor.Options {
	records := memory.Of(c.records).Records()
	records.Prompt = s.agent.system()
	o := compactor.Options{
		Records: records, Slots: c.slots, Log: c.log, Policy: s.policy.get,
		Open: c.tasks.Mention,
		Spend: func(counts bool) error { // why no model may be called now
			if c.paused(c.life) {
				return errPaused
			}
			return c.calls().ForSummary(counts)
		},
		Spent: func(model string, u llm.Usage) { c.usage.count(store.ForSummary, model, u) },
	}
	if before := c.o.Before; before != nil {
		o.Before = func(ctx context.Context, p compactor.Proposal) (string, error) { return before(ctx, c.name, p) }
	}
	return o
}

// burst returns how many estimated tokens the messages of one turn may take.
func (a *answerer) burst() int {
	window := a.policy.get().Window(a.window.last())
	return compactor.BurstBudget(window * 100 / a.window.learned().Scale())
}

// renew switches to the agent that the settings now name, and rereads what another process has changed, between turns, when
// everything is on disk. A summary being written ends with the settings it started with, and then wakes the conversation.
func (c *conversation) renew(ctx context.Context) error {
	elsewhere, err := c.records.Store().Upkeep().WrittenElsewhere(ctx)
	if err != nil || ask(&c.loop, func(*compactor.Compactor) bool { return c.rules == c.access.Rules() && c.elsewhere == elsewhere }) {
		return err
	}
	opened, err := c.load(ctx)
	switch {
	case opened:
		c.check()
	case err == nil: // at least nothing that was deleted is shown on
		c.do(func(e *compactor.Compactor) { err = c.changedElsewhere(e, elsewhere) })
	}
	return err
}

// changedElsewhere rereads what another process has changed while a summary is being written. Only the loop calls it. The process
// may have erased what somebody typed, so a focus that is in memory alone is dropped, once per change.
func (c *conversation) changedElsewhere(e *compactor.Compactor, version int64) error {
	if c.seen != version {
		c.seen = version
		compactor.ForgetFocus(e)
	}
	_, err := c.policy.read(c.life, c.records)
	return cmp.Or(err, e.Changed(c.life))
}

// policy is what a conversation is compacted by: the settings file, overridden with /settings and, above that, by
// settings from the messages of the running turn. Only the loop changes it.
type policy struct {
	file         func() compactor.Policy
	stored, turn compactor.Patch
	over         atomic.Pointer[compactor.Patch] // both
}

// get returns the current policy. It is called at each check, in any goroutine.
func (p *policy) get() compactor.Policy {
	over := p.over.Load()
	if over == nil || len(*over) == 0 {
		return p.file()
	}
	now, _ := over.Fit(p.file())
	return now
}

// override sets settings for the running turn and the check after it.
func (p *policy) override(in *loop, settings compactor.Patch) {
	in.do(func(*compactor.Compactor) { p.set(p.stored, settings) })
}

func (p *policy) set(stored, turn compactor.Patch) {
	over := compactor.Merge(stored, turn)
	p.stored = stored
	p.turn = turn
	p.over.Store(&over)
}

// read applies the stored settings, and returns those that conflict with the file and are ignored.
func (p *policy) read(ctx context.Context, records *store.Conversation) (left []*compactor.FieldError, err error) {
	set, err := records.Settings().Set(ctx)
	if err != nil {
		return nil, err
	}
	p.set(store.PatchOf(set), p.turn)
	_, left = p.stored.Fit(p.file())
	return left, nil
}

// settingsChanged applies what /settings changed, and checks the levels at once. Only the loop calls it.
func (c *conversation) settingsChanged() {
	if c.engine == nil {
		return // it reads them when it is opened
	}
	if _, err := c.policy.read(c.life, c.records); err != nil {
		c.reread() // the child reads all settings again, and reports why it cannot
		return
	}
	c.engine.Check(c.life)
}

// rereadSettings has a conversation and its threads read what people set for it.
func (h *Hub) rereadSettings(records *store.Conversation) {
	h.post(records.Name(), (*conversation).settingsChanged)
	h.postThreads(records.Name(), (*conversation).settingsChanged)
}
