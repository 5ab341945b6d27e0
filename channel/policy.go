package channel

import (
	"context"
	"log/slog"
	"sync"

	"cairn/compactor"
	"cairn/memory"
)

// policy is what a conversation is compacted by: what the settings file says, and over
// it what people set with /settings.
type policy struct {
	file func() compactor.Policy
	log  *slog.Logger

	mu     sync.Mutex // guards everything below
	own    compactor.Patch
	below  compactor.Policy // what the file said when now was made of it
	now    compactor.Policy
	stands bool // now is made of own and below
}

// get is the policy that holds now. It is asked at each check.
func (p *policy) get() compactor.Policy {
	file := p.file()
	p.mu.Lock()
	var left []*compactor.FieldError
	if !p.stands || p.below != file {
		p.now, left = p.own.Fit(file)
		p.below, p.stands = file, true
	}
	now := p.now
	p.mu.Unlock()
	for _, e := range left { // once for each edit of either
		p.log.Warn("channel_setting_ignored", "problem", e.Error())
	}
	return now
}

// set is what people set with /settings.
func (p *policy) set() compactor.Patch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own
}

// read has what is stored take effect.
func (p *policy) read(ctx context.Context, records *memory.Conversation) error {
	set, err := records.Overrides(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own, p.stands = memory.PatchOf(set), false
	return nil
}

// settingsChanged has what /settings changed take effect, and looks at once whether a
// level is reached by now. It is the loop's.
func (c *conversation) settingsChanged() {
	if c.engine == nil {
		return // it reads them when it is opened
	}
	if err := c.policy.read(c.hub.ctx, c.records); err != nil {
		c.rules, c.runs.again = nil, true // the child reads all settings again, and reports why it cannot
		return
	}
	c.engine.Check(c.hub.ctx)
}
