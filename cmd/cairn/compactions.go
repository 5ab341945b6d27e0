// cairn compactions: list compactions with time, reason and freed tokens.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/store"
)

func newCompactions(a *app) *cobra.Command {
	var channel, state, since string
	var limit int
	cmd := a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "compactions [--channel NAME] [--state STATE] [--since TIME] [--json]",
		Short: "List compactions: when, why, what they replaced, and what that freed",
		Long: `List compactions, newest last: when it was applied (or started, if it never was), its trigger,
kind and state, the messages it replaces, the tokens used before and after (of a rollup: those of
the summaries it replaced, and its own), how many seconds the summary took, and what made it.
--json prints more. It works while the bot runs.

Kinds: a leaf summarizes messages, a rollup summarizes summaries, a placeholder replaces
messages that nobody has summarized yet. States: ` + strings.Join(store.CompactionStates[:4], ", ") + `,
` + strings.Join(store.CompactionStates[4:], ", ") + `.`,
		Example: `  cairn compactions --since 7d
  cairn compactions --state failed
  cairn compactions --channel garden --json | jq 'select(.trigger == "emergency") | .time'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return wrongUse(cmd, errors.New("--limit must be at least 0"))
			}
			return a.withPast(cmd, since, channel, func(db *store.Store, from time.Time, conversation string) error {
				return a.showCompactions(cmd, db, store.CompactionFilter{State: state, Limit: limit, Since: from, Conversation: conversation})
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&channel, "channel", "", "only those of this channel, by `NAME` (all)")
	flags.Var(choice{&state, store.CompactionStates}, "state", "only those in this `STATE` (all)")
	flags.StringVar(&since, "since", "", "only those since `TIME`"+sinceForms)
	flags.IntVar(&limit, "limit", 0, "only the newest `N` (default: all)")
	return cmd
}

func (a *app) showCompactions(cmd *cobra.Command, db *store.Store, f store.CompactionFilter) error {
	all, total, err := db.Compactions(cmd.Context(), f)
	if err != nil {
		return err
	}
	several := slices.ContainsFunc(all, func(c store.ListedCompaction) bool { return c.Channel != all[0].Channel })
	err = showTable(a, "ID TIME CHANNEL TRIGGER KIND STATE SPAN BEFORE AFTER SEC BY ERROR", all, func(c store.ListedCompaction) []string {
		channel, seconds, before, after := "", "", c.BeforeTokens, c.AfterTokens
		if several {
			channel = c.Channel
		}
		if c.Seconds > 0 {
			seconds = strconv.FormatFloat(c.Seconds, 'f', 1, 64)
		}
		if c.FoldedTokens > 0 { // what was applied with it freed the rest
			before, after = c.FoldedTokens, c.SummaryTokens
		}
		return []string{
			strconv.FormatInt(c.ID, 10), moment(c.Time), channel, c.Trigger, c.Kind, c.State, fmt.Sprintf("#%d-%d", c.From, c.To),
			unlessZero(before), unlessZero(after), seconds, cmp.Or(c.Model, c.By), c.Error,
		}
	})
	if err != nil {
		return err
	}
	if total == 0 {
		fmt.Fprintln(a.err, "no compactions found")
	} else if more := total - len(all); more > 0 {
		fmt.Fprintf(a.err, "%d more before them; --limit shows them\n", more)
	}
	return nil
}
