// cairn memories show, stats: one memory, and numbers.

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

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

func newMemoriesShow(a *app) *cobra.Command {
	return a.withJSON("one JSON object per line", &cobra.Command{
		Use:     "show ID",
		Short:   "Show a memory, the messages it came from, and what it superseded or was superseded by",
		Example: `  cairn memories show 12`,
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(_ *store.Store, m memory.Details) error {
				return a.show(a.out, memoryDetails{m})
			})
		},
	})
}

type memoryDetails struct{ memory.Details }

func (m memoryDetails) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d  %s\n\n", m.ID, m.Content)
	line := func(name, value string) { fmt.Fprintf(&b, "%-12s%s\n", name, cmp.Or(value, "-")) }
	line("kind", m.Kind)
	line("channel", m.Conversation)
	line("said by", m.Speaker)
	line("about", m.About)
	if m.Attribute != "" {
		line("states", chat.OneLine(m.Attribute+": "+m.Value))
	}
	if m.Since != "" {
		line("since", m.Since)
	}
	if until := cmp.Or(m.Ended, m.Until); until != "" {
		line("until", until)
	}
	line("said at", moment(m.SaidAt))
	by := m.By
	if m.Compaction != 0 {
		by += fmt.Sprintf(", with compaction %d", m.Compaction)
	}
	line("saved by", by)
	line("saved at", moment(m.SavedAt))
	worth := strconv.FormatFloat(m.Importance, 'g', -1, 64)
	if now := m.Decayed(time.Now()); now < m.Importance {
		worth += fmt.Sprintf(", worth %.2f by now", now)
	}
	line("importance", worth)
	line("confirmed", strconv.Itoa(m.Confirmed))
	if !m.Expires.IsZero() {
		line("expires", moment(m.Expires))
	}
	if m.Pinned {
		line("pinned", "yes: it neither expires nor fades")
	}
	if m.Reach == "channel" {
		line("reach", "this channel alone")
	}
	state := m.State
	if doubt := m.Doubt(); doubt != "" && doubt != "was so" {
		state += ", " + doubt
	}
	line("state", state)
	for _, other := range m.Chain {
		switch {
		case other.ID < m.ID:
			line("supersedes", other.String())
		case other.ID > m.ID:
			line("superseded", "by "+other.String())
		}
	}
	for _, r := range m.Messages {
		fmt.Fprintf(&b, "\n%v", r)
	}
	return b.String()
}

// withMemory calls do with the memory that has this id.
func (a *app) withMemory(cmd *cobra.Command, id string, do func(*store.Store, memory.Details) error) error {
	n, err := memoryNumber(cmd, id)
	if err != nil {
		return err
	}
	return a.withSharedStore(cmd.Context(), func(db *store.Store) error {
		details, err := memory.In(db).Details(cmd.Context(), n)
		if err != nil {
			return noMemory(n, err)
		}
		return do(db, details)
	})
}

func memoryNumber(cmd *cobra.Command, id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, wrongUse(cmd, fmt.Errorf("%q is not a memory's number: `cairn memories list` shows them", id))
	}
	return n, nil
}

// noMemory returns the error of reading a memory.
func noMemory(id int64, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("memory %d: %w: `cairn memories list --state all` lists all of them", id, store.ErrNotFound)
	}
	return err
}

func newMemoriesStats(a *app) *cobra.Command {
	var s selection
	var all bool
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "stats",
		Short: "Count memories by kind, person, conversation, month and origin",
		Long: `Count memories by kind, state, person, conversation, the month in which they were said, and
origin: worker (a summary by a model), extractive (a summary without a model), assistant (the
model in a conversation), person (/remember).

A memory counts for the person it is about, otherwise for the person who said it.`,
		Example: `  cairn memories stats --channel garden
  cairn memories stats --since 30d --json | jq -r '.person[] | "\(.count) \(.name)"'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withFilter(cmd, s, func(db *store.Store, filter memory.Filter) error {
				stats, err := memory.In(db).Statistics(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return a.show(a.out, memoryStats{stats, all})
			})
		},
	})
	s.filterFlags(cmd, "current")
	cmd.Flags().BoolVar(&all, "all", false, "print all people, conversations and months, not the first ten")
	return cmd
}

type memoryStats struct {
	memory.Statistics
	all bool
}

// maxStats is how many lines of each list are printed for people.
const maxStats = 10

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
	printed := counts
	if !s.all {
		printed = counts[:min(len(counts), maxStats)]
	}
	rows := table{{strings.ToUpper(name), "", ""}}
	for _, c := range printed {
		label := cmp.Or(chat.OneLine(c.Name), "(no one)")
		rows = append(rows, []string{label, fmt.Sprint(c.Count), fmt.Sprintf("%.0f %%", 100*float64(c.Count)/float64(s.Total))})
	}
	text := rows.aligned("lr")
	if more := len(counts) - len(printed); more > 0 {
		text += fmt.Sprintf("%d more; --all shows them\n", more)
	}
	return text
}
