package main

// costGoals are what the input may cost with economy, in millions of tokens, in each
// kind of channel, for the conversation that is made if no flag but --cache is given.
var costGoals = map[string][2]float64{cachePrefix: {24, 44}, cacheBreakpoints: {26, 52}}

func (p pricing) judge(result *costs) {
	goals, ok := costGoals[p.cache.kind]
	if !ok || p.turns != 2000 || p.seed != 1 || p.scale != 1 || p.cache.ttl != cacheTTL {
		return
	}
	for i, channel := range result.Channels {
		name := economical + ": millions of tokens, " + []string{"busy", "pauses"}[i]
		for _, r := range channel.Rows {
			if r.Strategy == economical {
				result.Targets = append(result.Targets, atMost(name, r.Input/1e6, goals[i], goals[i]))
			}
		}
	}
}
