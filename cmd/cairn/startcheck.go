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

// checkModels sends each model one short request in the background, except those that have already
// served one. An edit of the settings repeats the check for models that it adds. say prints a line for
// the person at the terminal; without it, problems go to the log.
func (b *bot) checkModels(say func(line string)) {
	b.check = func() { b.tasks.Go(func() { b.checkOnce(say) }) }
	b.check()
}

func (b *bot) checkOnce(say func(line string)) {
	select {
	case <-time.After(checkDelay):
	case <-b.ctx.Done():
		return
	}
	agents := b.current.Load().agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agent := agents[id]
		for _, model := range []llm.Model{agent.Model, agent.Worker} {
			if m, remote := model.(*located); remote && !m.checked.Swap(true) {
				agent.Model = m
				b.checkModel(agent, m, say)
			}
		}
	}
}

// checkModel sends m the request that a turn of agent would send, unless it has served one.
func (b *bot) checkModel(agent channel.Agent, m *located, say func(line string)) {
	var err error
	if !m.used.Load() {
		_, err = agent.Probe(b.ctx, false)
	}
	switch {
	case b.ctx.Err() != nil:
	case err != nil && say != nil:
		line := fmt.Sprintf("%s at %s does not answer: %v", m.Name(), m.where.Address, err)
		if remedy, ok := llm.RemedyOf(err); ok {
			line += "; " + remedy.Operator
		}
		say(line)
	case err != nil:
		b.log.Warn("model_check_failed", llm.LogAttrs(err)...)
	case say != nil && m.unnamed:
		say(fmt.Sprintf("Using %s, chosen from the models at %s; set model to use another (`cairn models` lists them)", m.Name(), m.where.Address))
	}
}
