// cairn upgrade: create the tables of the database, or bring them up to date.

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn/store"
)

func newUpgrade(a *app) *cobra.Command {
	as := ""
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Create the tables, or bring them up to date",
		Long: `Create the tables of the database, or bring them up to date after an update of Cairn. The bot
does so when it starts: you need this only where the bot may not, because its user in PostgreSQL
does not own the tables. --store names the address of a user who does.

Bots may go on to run, unless the new tables are not for their version: then it says so, and
changes nothing.`,
		Example: `  cairn upgrade --store file:secrets/owner`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if as != "" {
				a.settings.Store = as
				a.secrets.learn(a.settings.Secrets()...)
			}
			return a.withStore(cmd.Context(), false, func(db *store.Store) error {
				_, err := fmt.Fprintln(a.out, db.Upkeep().Place(), "is up to date.")
				return err
			})
		},
	}
	cmd.Flags().StringVar(&as, "store", "", "the database at `ADDRESS`, as in the setting store")
	return cmd
}
