// API routes: simulating other settings on a conversation.

package web

import (
	"context"
	"encoding/json"

	"cairn/compactor"
	"cairn/simulate"
	"cairn/store"
)

type simulateBody struct {
	Conversation string        `json:"conversation"`
	Variants     []variantBody `json:"variants" jsonschema:"at most 8; none: the settings in force alone"`
}

type variantBody struct {
	Name     string                     `json:"name,omitempty" jsonschema:"absent: made of its settings"`
	Settings map[string]json.RawMessage `json:"settings" jsonschema:"over those in force: {\"background_threshold\": 0.7}; keys of [defaults.compaction], or context_window"`
}

const maxVariants = 8

func (s *Server) simulate(r *request, b simulateBody) (report simulate.Report, err error) {
	if len(b.Variants) > maxVariants {
		return report, invalid("variants: at most %d are compared at once.", maxVariants)
	}
	c, err := s.find(r.Context(), b.Conversation)
	if err != nil {
		return report, err
	}
	var variants []simulate.Variant
	for _, v := range b.Variants {
		made := simulate.Variant{Name: v.Name, Set: compactor.Patch{}}
		for key, raw := range v.Settings {
			text, err := settingText(raw)
			if err != nil || text == nil {
				return report, invalid("%s: must be a number, a text, true or false.", key)
			}
			made.Set[key] = *text
		}
		variants = append(variants, made)
	}
	return s.simulation(r.Context(), c, variants)
}

// simulation simulates variants on a conversation. Only one runs at a time, because it occupies a
// CPU and keeps the conversation in memory.
func (s *Server) simulation(ctx context.Context, c *store.Conversation, variants []simulate.Variant) (report simulate.Report, err error) {
	agent, err := s.operator.Agent(ctx, c)
	if err != nil {
		return report, err
	}
	policy, err := agent.PolicyOf(ctx, c)
	if err != nil {
		return report, err
	}
	o := simulate.OptionsOf(ctx, agent, policy, s.o.Settings().Money().Prices)
	for _, v := range variants {
		if err := o.Check(v); err != nil {
			return report, invalid("%v.", err)
		}
	}
	select {
	case s.simulating <- struct{}{}:
		defer func() { <-s.simulating }()
	case <-ctx.Done():
		return report, ctx.Err()
	}
	rec, err := simulate.Read(ctx, c)
	if err != nil {
		return report, err
	}
	return simulate.Run(ctx, rec, variants, o)
}
