// cairn context: how full a channel's window is.
package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/memory"
)

func newContext(a *app) *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "context [--channel NAME] [--json]",
		Short: "Show how full a channel's context window is",
		Long: `Show what the next request of a channel costs, of how large a window, and the
summaries it stands on, oldest first. It reads the database and may run beside the bot.`,
		Example: `  cairn context
  cairn context --channel garden --json | jq .used_pct`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.context(cmd, name, asJSON) },
	}
	cmd.Flags().StringVar(&name, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) context(cmd *cobra.Command, name string, asJSON bool) error {
	log, err := a.logger(a.err, slog.LevelWarn)
	if err != nil {
		return err
	}
	return a.look(cmd.Context(), func(store *memory.Store) error {
		conversation, err := find(cmd.Context(), store, name)
		if err != nil {
			return err
		}
		known, err := store.Models(cmd.Context())
		if err != nil {
			return err
		}
		b := &bot{log: log, models: newModelSet(log)} // it does not run: its agents are looked at
		b.models.notebook.Open(known, nil)
		agents, err := b.agents(&a.settings)
		if err != nil {
			return err
		}
		gauge, err := channel.Gauge(cmd.Context(), conversation, agents[a.settings.agentID(conversation.Name())])
		if err != nil {
			return err
		}
		return a.show(a.out, gauge, asJSON)
	})
}
