// The check at the start: do the models answer, before anybody waits for them.
package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"cairn/channel"
	"cairn/llm"
)

// checkDelay is how long the check waits: a model that somebody asked by then is not
// asked again.
const checkDelay = time.Second

// modelCheck says which models are checked, and who hears of it.
type modelCheck struct {
	agents func() map[string]channel.Agent // whose models, by the settings of now
	failed func(m *located, err error)
	chosen func(m *located) // of a model that no setting names; nil: nobody hears of it
}

// checkModels asks the models in the background one short question each, but those that
// were asked something. It does so again for the models an edit of the settings brings.
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

// checkModel asks m as agent's turn would.
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
