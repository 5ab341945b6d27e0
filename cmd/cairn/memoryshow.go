// cairn memories show: a memory, its messages, and what superseded what.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/memory"
	"cairn/store"
)

func newMemoriesShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a memory, the messages it came from, and what it superseded or was superseded by",
		Example: `  cairn memories show 12`,
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(_ *store.Store, m memory.Details) error {
				return a.show(a.out, shownMemory{m})
			})
		},
	}
	a.jsonFlag(cmd, "one JSON object per line")
	return cmd
}

// shownMemory is the output of memories show.
type shownMemory struct{ memory.Details }

func (m shownMemory) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d  %s\n\n", m.ID, m.Content)
	line := func(name, value string) { fmt.Fprintf(&b, "%-12s%s\n", name, cmp.Or(value, "-")) }
	line("kind", m.Kind)
	line("channel", m.Conversation)
	line("said by", m.Speaker)
	line("about", m.About)
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
	line("state", m.State)
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
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return wrongUse(cmd, fmt.Errorf("%q is not a memory's number: `cairn memories list` shows them", id))
	}
	return a.withSharedStore(cmd.Context(), func(db *store.Store) error {
		details, err := memory.In(db).Details(cmd.Context(), n)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("memory %d: %w: `cairn memories list --state all` shows what there is", n, store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		return do(db, details)
	})
}
