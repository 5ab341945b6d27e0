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
	say    func(line string)               // to the person at the terminal; nil: only problems, to the log
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
		agents := c.agents()
		for _, id := range slices.Sorted(maps.Keys(agents)) {
			agent := agents[id]
			for _, model := range []llm.Model{agent.Model, agent.Worker} {
				if m, remote := model.(*located); remote && !m.checked.Swap(true) {
					agent.Model = m
					b.checkModel(c, agent, m)
				}
			}
		}
	})
}

// checkModel sends m the request that a turn of agent would send, unless it has served one.
func (b *bot) checkModel(c modelCheck, agent channel.Agent, m *located) {
	var err error
	if !m.used.Load() {
		_, err = agent.Probe(b.ctx, false)
	}
	switch {
	case b.ctx.Err() != nil:
	case err != nil && c.say != nil:
		c.say(failureLine(m, err))
	case err != nil:
		b.log.Warn("model_check_failed", llm.LogAttrs(err)...)
	case c.say != nil && m.unnamed:
		c.say(fmt.Sprintf("Using %s, chosen from the models at %s; set model to use another (`cairn models` lists them)", m.Name(), m.where.Address))
	}
}

// failureLine describes a failure in one line, for the person who runs the program.
func failureLine(m *located, err error) string {
	line := fmt.Sprintf("%s at %s does not answer: %v", m.Name(), m.where.Address, err)
	if remedy, ok := llm.RemedyOf(err); ok {
		line += "; " + remedy.Operator
	}
	return line
}
