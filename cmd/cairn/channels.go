// cairn channels: list the conversations.

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cairn/store"
)

func newChannels(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "channels [--json]",
		Short: "List the conversations",
		Long: `List the conversations, the one with the newest message first: the name for --channel, the
number of messages, the time of the newest one, and the channel's name on Discord or Slack. It
works while the bot runs.`,
		Example: `  cairn channels
  cairn channels --json | jq -r .channel`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSharedStore(cmd.Context(), func(db *store.Store) error {
				all, err := db.Listing(cmd.Context())
				if err != nil {
					return err
				}
				return a.showChannels(all)
			})
		},
	}
	a.jsonFlag(cmd, "one JSON object per line")
	return cmd
}

func (a *app) showChannels(all []store.Listed) error {
	if len(all) == 0 {
		fmt.Fprintln(a.err, "no conversations yet")
		return nil
	}
	var rows []row
	for _, l := range all {
		rows = append(rows, channelRow(l))
	}
	return a.showTable("CHANNEL MESSAGES LAST NAME", rows)
}

// channelRow is one line of the list.
type channelRow store.Listed

func (r channelRow) cells() []string {
	last := "-"
	if !r.Last.IsZero() {
		last = moment(r.Last)
	}
	return []string{r.Channel, fmt.Sprint(r.Messages), last, r.Name}
}

// defaultTo is the help of --channel where defaultConversation chooses.
const defaultTo = "`NAME` of the channel (the only one there is, else general); cairn channels lists them"

// defaultConversation returns the conversation to use if none is named: the only one with messages,
// else the terminal's default.
func defaultConversation(ctx context.Context, db *store.Store) (string, error) {
	all, err := db.Listing(ctx)
	if err != nil {
		return "", err
	}
	usual, err := conversationName(defaultChannel)
	if err != nil {
		return "", err
	}
	var used []string
	for _, l := range all {
		if l.Messages > 0 {
			used = append(used, l.Channel)
		}
	}
	switch {
	case len(used) == 1:
		return used[0], nil
	case len(used) == 0 || slices.Contains(used, usual):
		return defaultChannel, nil
	}
	return "", fmt.Errorf("which channel? name one with --channel: %s", listNames(used))
}
