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

// checkModels asks the models of agents in the background one short question each, and
// hands failures to tell. chosen is told of each model that no setting names; it may be nil.
func (b *bot) checkModels(agents map[string]channel.Agent, tell func(m *located, err error), chosen func(m *located)) {
	b.tasks.Go(func() {
		select {
		case <-time.After(checkDelay):
		case <-b.ctx.Done():
			return
		}
		asked := map[llm.Model]bool{}
		for _, id := range slices.Sorted(maps.Keys(agents)) {
			agent := agents[id]
			for _, model := range []llm.Model{agent.Model, agent.Worker} {
				m, remote := model.(*located)
				if !remote || asked[m] {
					continue
				}
				asked[m] = true
				agent.Model = m
				b.checkModel(agent, m, tell, chosen)
			}
		}
	})
}

// checkModel asks m as agent's turn would.
func (b *bot) checkModel(agent channel.Agent, m *located, tell func(*located, error), chosen func(*located)) {
	if !m.used.Load() {
		if _, err := agent.Probe(b.ctx, false); err != nil {
			if b.ctx.Err() == nil {
				tell(m, err)
			}
			return
		}
	}
	if m.unnamed && chosen != nil && b.ctx.Err() == nil {
		chosen(m)
	}
}

// warnOf logs that a model does not answer.
func (b *bot) warnOf(_ *located, err error) {
	b.log.Warn("the model does not answer", llm.LogAttrs(err)...)
}

// trouble is a failure in one line for a person who runs the program.
func trouble(m *located, err error) string {
	line := fmt.Sprintf("%s at %s does not answer: %v", m.Name(), m.where.Address, err)
	if remedy, ok := llm.RemedyOf(err); ok {
		line += "; " + remedy.Operator
	}
	return line
}
