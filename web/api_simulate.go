// API routes: simulating other settings on a conversation.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/simulate"
	"cairn/store"
)

const simulatePath = "/api/simulate"

type simulateBody struct {
	Conversation string        `json:"conversation"`
	Variants     []variantBody `json:"variants" jsonschema:"at most 8; none: the current settings alone"`
	messageRange
}

type variantBody struct {
	Name     string                     `json:"name,omitempty" jsonschema:"absent: made of its settings"`
	Settings map[string]json.RawMessage `json:"settings" jsonschema:"over the current ones; keys of [defaults.compaction], or context_window"`
}

const maxVariants = 8

// simulator finds out what other settings would have done with a conversation.
type simulator struct {
	operator channel.Operator
	store    *store.Store
	settings func() *config.Settings
	running  chan struct{} // capacity 1: one simulation at a time
}

func (s *simulator) routes() []route {
	simulation := send("POST "+simulatePath, "What other settings would have done with a conversation, without a model; "+
		"the current settings come first. One runs at a time; others wait", s.simulate, http.StatusOK, http.StatusUnprocessableEntity)
	simulation.slow = true
	return []route{simulation}
}

func (s *simulator) simulate(r *request, b simulateBody) (report simulate.Report, err error) {
	if len(b.Variants) > maxVariants {
		return report, invalid("variants: at most %d can be compared.", maxVariants)
	}
	c, err := findConversation(r.Context(), s.store, b.Conversation)
	if err != nil {
		return report, err
	}
	var variants []simulate.Variant
	for _, v := range b.Variants {
		variant := simulate.Variant{Name: v.Name, Set: compactor.Patch{}}
		for key, raw := range v.Settings {
			text, err := settingText(raw)
			if err != nil || text == nil {
				return report, invalid("%s: must be a number, a text, true or false.", key)
			}
			variant.Set[key] = *text
		}
		variants = append(variants, variant)
	}
	return s.simulation(r.Context(), c, variants, b.messageRange)
}

// policyOf returns the agent of a conversation, and its policy there.
func policyOf(ctx context.Context, operator channel.Operator, c *store.Conversation) (agent channel.Agent, policy compactor.Policy, err error) {
	agent, err = operator.Agent(ctx, c)
	if err == nil {
		policy, err = agent.PolicyOf(ctx, c)
	}
	return agent, policy, err
}

// simulation simulates variants on a conversation. Only one runs at a time, because it occupies a
// CPU and keeps the conversation in memory.
func (s *simulator) simulation(ctx context.Context, c *store.Conversation, variants []simulate.Variant, of messageRange) (report simulate.Report, err error) {
	agent, policy, err := policyOf(ctx, s.operator, c)
	if err != nil {
		return report, err
	}
	o := simulate.OptionsOf(ctx, agent, policy, s.settings().Money().Prices)
	o.From = of.From
	if err := of.check(); err != nil {
		return report, err
	}
	for _, v := range variants {
		if err := o.Check(v); err != nil {
			return report, invalid("%v.", err)
		}
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return report, ctx.Err()
	}
	rec, err := simulate.Read(ctx, c)
	if err != nil {
		return report, err
	}
	report, err = simulate.Run(ctx, rec.Until(of.To), variants, o)
	if errors.Is(err, simulate.ErrNoMessages) {
		err = invalid("%v.", err)
	}
	return report, err
}
