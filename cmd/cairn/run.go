// cairn run: open every door that has a token.
package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Open every door that has a token",
		Long: `Open every door that has a token, and answer there until stopped.

This version has no such door yet: Discord and Slack come next. The local one is
` + "`cairn chat`.",
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := a.load(); err != nil {
				return err
			}
			return usage(errors.New("no door to open: this version knows neither Discord nor Slack yet; talk with `cairn chat`"))
		},
	}
}
