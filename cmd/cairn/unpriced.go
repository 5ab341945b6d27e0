// Models that no budget limits, because nobody knows what they cost.

package main

import (
	"maps"
	"slices"

	"cairn/channel"
	"cairn/config"
	"cairn/llm"
)

// unpriced returns the models of all agents and their workers that have no price, if a budget is set.
func unpriced(s *config.Settings, agents map[string]channel.Agent) (names []string) {
	money := s.Money()
	if !money.Limited() {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		for _, model := range append(agents[id].Answering(), agents[id].Worker) {
			if model == nil || notChosen(model) {
				continue
			}
			_, priced := money.Prices.Of(model.Name())
			if !priced && !slices.Contains(names, model.Name()) {
				names = append(names, model.Name())
			}
		}
	}
	return names
}

// notChosen reports whether nothing names a model, and its server has not listed any yet.
func notChosen(model llm.Model) bool {
	m, remote := model.(*located)
	return remote && m.unnamed && m.Name() == m.host
}
