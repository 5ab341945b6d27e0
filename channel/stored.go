package channel

import (
	"context"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/compactor"
	"cairn/memory"
	"cairn/store"
)

// Reports of a conversation from the database alone.

// ReadContext reads how full a conversation's window is. It may ask the model's server.
func ReadContext(ctx context.Context, records *store.Conversation, agent Agent) (report.Context, error) {
	tools, err := agent.tools(ctx, records, memory.ToolOptions{}, toolHosts{})
	if err != nil {
		return report.Context{}, err
	}
	policy, err := agent.PolicyOf(ctx, records)
	if err != nil {
		return report.Context{}, err
	}
	engine, err := compactor.Open(ctx, agent.engine(newWindow(ctx, agent.Model), tools, compactor.Options{
		Records: memory.Of(records).Records(), Policy: func() compactor.Policy { return policy },
	}))
	if err != nil {
		return report.Context{}, err
	}
	defer engine.Close()
	return report.NewContext(ctx, engine.StatusReader()(), records, agent.ID, agent.Model, sentences.Speaker{}), nil
}

// ReadSpending reads what a conversation's models were used for; agent is the one that answers in it, all are the
// budgets of the bot. It may ask the model's server.
func ReadSpending(ctx context.Context, records *store.Conversation, agent Agent, m access.Money, all ...access.Budget) (*report.Spending, error) {
	policy, err := agent.PolicyOf(ctx, records)
	if err != nil {
		return nil, err
	}
	return report.ReadSpending(ctx, records, agent.Model, policy, m.Prices, all...)
}
