// cairn memories show, stats, export, import: one memory, numbers, and files.

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
				return a.show(a.out, shownMemory{m})
			})
		},
	})
}

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
		label := cmp.Or(chat.OneLine(c.Name), "(no one)")
		rows = append(rows, []string{label, fmt.Sprint(c.Count), fmt.Sprintf("%.0f %%", 100*float64(c.Count)/float64(s.Total))})
	}
	text := rows.aligned("lr")
	if more := len(counts) - len(shown); more > 0 {
		text += fmt.Sprintf("%d more; --all shows them\n", more)
	}
	return text
}

func newMemoriesExport(a *app) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write memories as JSON Lines, which import reads",
		Long: `Write memories to FILE, which must not exist yet, or to standard output: one memory per line, in
the order they were saved.`,
		Example: `  cairn memories export memories.jsonl
  cairn memories export --channel garden --state current | jq .content`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, files []string) error { return a.exportMemories(cmd, s, files) },
	}
	s.filterFlags(cmd, "all")
	return cmd
}

func (a *app) exportMemories(cmd *cobra.Command, s selection, files []string) error {
	return a.withFilter(cmd, s, func(db *store.Store, filter memory.Filter) (err error) {
		to := a.out
		if len(files) > 0 {
			file, openErr := os.OpenFile(files[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if errors.Is(openErr, os.ErrExist) {
				return usage(fmt.Errorf("%s already exists: move it, or name another file", files[0]))
			}
			if openErr != nil {
				return fmt.Errorf("write the memories: %w", openErr)
			}
			defer func() {
				if err = errors.Join(err, file.Close()); err != nil { // half a file would be in the way of the next try
					err = errors.Join(err, os.Remove(files[0]))
				}
			}()
			to = file
		}
		out := bufio.NewWriter(to)
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		write := func(e memory.Exported, _ []chat.Message) error { return lines.Encode(e) }
		return errors.Join(memory.In(db).Export(cmd.Context(), filter, write), out.Flush())
	})
}

func newMemoriesImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Import exported memories",
		Long: `Import what export wrote as JSON Lines, into this or another data folder. Each line is an
object; content, kind, channel (the full name of a conversation) and said_at are required:
  {"channel":"terminal:garden","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z","speaker":"Ada"}

The whole file is checked first. Importing it again is harmless: known memories are skipped. They
get new numbers and lead to those of their messages that the channel has. The bot must be stopped.`,
		Example: `  cairn memories import memories.jsonl`,
		Args:    args(1, 1),
		RunE:    func(cmd *cobra.Command, files []string) error { return a.importMemories(cmd, files[0]) },
	}
}

func (a *app) importMemories(cmd *cobra.Command, file string) error {
	lines, err := readLines[memory.Exported](file, a.in)
	if err != nil {
		return err
	}
	var all []memory.Exported
	for _, l := range lines {
		all = append(all, l.value)
	}
	if bad, wrong := errors.AsType[*memory.ImportError](memory.CheckExported(all)); wrong {
		return lines[bad.Index].wrong(bad.Err)
	}
	return a.withStore(cmd.Context(), false, func(db *store.Store) error {
		n, err := memory.In(db).Import(cmd.Context(), all)
		if err != nil {
			return err
		}
		if n.Lost > 0 {
			fmt.Fprintf(a.err, "%s not here\n", counted(n.Lost, "of the messages they came from is", "of the messages they came from are"))
		}
		if n.Out > 0 {
			fmt.Fprintf(a.err, "skipped, because they are about people who opted out: %s\n", counted(n.Out, "memory", "memories"))
		}
		_, err = fmt.Fprintf(a.out, "imported %s; %s there already\n", counted(n.Fresh, "memory", "memories"), counted(n.Known, "was", "were"))
		return err
	})
}
