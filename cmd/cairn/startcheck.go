// The check at the start: does every model answer, before a person has to wait for it.
package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"cairn/channel"
	"cairn/llm"
)

// checkDelay is how long the check waits: models that have served a request by then are not
// checked.
const checkDelay = time.Second

// modelCheck configures which models are checked, and where the results go.
type modelCheck struct {
	agents func() map[string]channel.Agent // the agents whose models are checked, in the current settings
	failed func(m *located, err error)
	chosen func(m *located) // called with a model that no setting names; may be nil
}

// checkModels sends each model one short request in the background, except those that have already
// served one. An edit of the settings repeats the check for models that it adds.
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

// failureLine describes a failure in one line, for the person who runs the program.
func failureLine(m *located, err error) string {
	line := fmt.Sprintf("%s at %s does not answer: %v", m.Name(), m.where.Address, err)
	if remedy, ok := llm.RemedyOf(err); ok {
		line += "; " + remedy.Operator
	}
	return line
}
