// cairn memories stats: how many memories there are, by kind, person and channel.

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

func newMemoriesStats(a *app) *cobra.Command {
	var s selection
	var all bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count memories by kind, person, conversation, month and origin",
		Long: `Count memories by kind, state, person, conversation, the month in which they were said, and
origin: worker (a summary by a model), extractive (a summary without a model), assistant (the
model in a conversation), person (/remember).

A memory counts for the person it is about, otherwise for the person who said it.`,
		Example: `  cairn memories stats --channel garden
  cairn memories stats --since 30d --json | jq -r '.person[] | "\(.count) \(.name)"'`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withFilter(cmd, s, func(db *store.Store, filter memory.Filter) error {
				stats, err := memory.In(db).Statistics(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return a.show(a.out, memoryStats{stats, all})
			})
		},
	}
	s.filterFlags(cmd, "current")
	cmd.Flags().BoolVar(&all, "all", false, "print all people, conversations and months, not the first ten")
	a.jsonFlag(cmd, "one JSON object")
	return cmd
}

// memoryStats has the counts to print.
type memoryStats struct {
	memory.Statistics
	all bool
}

// statsShown is how many lines of each list are printed for people.
const statsShown = 10

func (s memoryStats) String() string {
	if s.Total == 0 {
		return "no memories found"
	}
	var b strings.Builder
	b.WriteString(counted(s.Total, "memory", "memories"))
	if s.Pinned > 0 {
		fmt.Fprintf(&b, ", %d pinned", s.Pinned)
	}
	b.WriteString("\n")
	months := slices.Clone(s.Month)
	slices.Reverse(months) // newest first
	for _, list := range []struct {
		name   string
		counts []memory.Count
	}{{"kind", s.Kind}, {"state", s.State}, {"origin", s.Origin}, {"person", s.Person}, {"conversation", s.Channel}, {"month", months}} {
		b.WriteString("\n" + s.list(list.name, list.counts))
	}
	return strings.TrimRight(b.String(), "\n")
}

// list returns one list of counts, with each count's share of the total.
func (s memoryStats) list(name string, counts []memory.Count) string {
	shown := counts
	if !s.all {
		shown = counts[:min(len(counts), statsShown)]
	}
	rows := table{{strings.ToUpper(name), "", ""}}
	for _, c := range shown {
		label := chat.OneLine(c.Name)
		if label == "" {
			label = "(no one)"
		}
		rows = append(rows, []string{label, fmt.Sprint(c.Count), fmt.Sprintf("%.0f %%", 100*float64(c.Count)/float64(s.Total))})
	}
	text := rows.aligned([]bool{false, true, true})
	if more := len(counts) - len(shown); more > 0 {
		text += fmt.Sprintf("%d more; --all shows them\n", more)
	}
	return text
}
