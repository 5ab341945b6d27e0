// The check at the start: do the models answer, before a person waits for them.
package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"cairn/channel"
	"cairn/llm"
)

// checkDelay is how long the check waits: a model that has served a request by then is not checked.
const checkDelay = time.Second

// modelCheck says which models are checked, and where the result goes.
type modelCheck struct {
	agents func() map[string]channel.Agent // whose models, by the settings of now
	failed func(m *located, err error)
	chosen func(m *located) // called with a model that no setting names; may be nil
}

// checkModels sends each model one short request in the background, except those that have served
// one. It does so again for models that an edit of the settings adds.
func (b *bot) checkModels(c modelCheck) {
	b.check = func() { b.checkOnce(c) }
	b.check()
}

func (b *bot) checkOnce(c modelCheck) {
	b.tasks.Go(func() {
		select {
		case <-time.After(checkDelay):
		case <-b.ctx.Done():
			return
		}
		asked, agents := map[llm.Model]bool{}, c.agents()
		for _, id := range slices.Sorted(maps.Keys(agents)) {
			agent := agents[id]
			for _, model := range []llm.Model{agent.Model, agent.Worker} {
				m, remote := model.(*located)
				if !remote || asked[m] {
					continue
				}
				asked[m] = true
				agent.Model = m
				b.checkModel(c, agent, m)
			}
		}
	})
}

// checkModel sends m the request that a turn of agent would send.
func (b *bot) checkModel(c modelCheck, agent channel.Agent, m *located) {
	if m.used.Load() && m.checked.Load() {
		return
	}
	if !m.used.Load() {
		if _, err := agent.Probe(b.ctx, false); err != nil {
			if b.ctx.Err() == nil {
				c.failed(m, err)
			}
			return
		}
	}
	if !m.checked.Swap(true) && m.unnamed && c.chosen != nil && b.ctx.Err() == nil {
		c.chosen(m)
	}
}

// warnOf logs that a model does not answer.
func (b *bot) warnOf(_ *located, err error) {
	b.log.Warn("model_check_failed", llm.LogAttrs(err)...)
}

// trouble is a failure in one line for a person who runs the program.
func trouble(m *located, err error) string {
	line := fmt.Sprintf("%s at %s does not answer: %v", m.Name(), m.where.Address, err)
	if remedy, ok := llm.RemedyOf(err); ok {
		line += "; " + remedy.Operator
	}
	return line
}
