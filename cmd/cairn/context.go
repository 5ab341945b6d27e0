// cairn context: show how full a channel's window is.

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/llm"
	"cairn/store"
)

func newContext(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "context [--channel NAME] [--json]",
		Short: "Show how full a channel's context window is",
		Long: `Show the tokens of a channel's next request, the window, model usage and cost, and the
summaries, oldest first. It works while the bot runs.

The savings from summaries are an estimate: for each request with a summary, the tokens of the
messages behind it minus its own, at the price of cached input.`,
		Example: `  cairn context
  cairn context --channel garden --json | jq .used_pct`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.context(cmd, name) },
	}
	cmd.Flags().StringVar(&name, "channel", "", defaultTo)
	a.jsonFlag(cmd, "one JSON object")
	return cmd
}

func (a *app) context(cmd *cobra.Command, name string) error {
	return a.withConversation(cmd.Context(), name, func(db *store.Store, conversation *store.Conversation) error {
		agent, err := a.agentOf(cmd.Context(), db, conversation)
		if err != nil {
			return err
		}
		report, err := channel.ReadContext(cmd.Context(), conversation, agent)
		if err != nil {
			return err
		}
		if report.Usage, err = a.spending(cmd.Context(), db, conversation, agent.Model); err != nil {
			return err
		}
		return a.show(a.out, report)
	})
}

// spending returns the model usage of a channel, and the budgets of the whole bot.
func (a *app) spending(ctx context.Context, db *store.Store, conversation *store.Conversation, model llm.Model) (*channel.Spending, error) {
	money, now := a.settings.Money(), time.Now()
	s, err := channel.ReadSpending(ctx, conversation, model, money)
	if err != nil {
		return nil, err
	}
	used, err := db.Usage(ctx, channel.MonthStart(now))
	if err != nil {
		return nil, err
	}
	s.Budgets = append(s.Budgets, money.Budgets(used, now)...)
	return s, nil
}
