// cairn memories: what the bot remembers.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cairn/memory"
)

func newMemories(a *app) *cobra.Command {
	cmd := group("memories", "List, search, show and forget what the bot remembers",
		newMemoriesList(a), newMemoriesSearch(a), newMemoriesShow(a), newMemoriesForget(a))
	cmd.Long = `What the bot remembers: facts, preferences, decisions and the like that it took from
what people said. Every memory leads to the messages it came from. These commands read
the database and may run beside the bot.

Kinds: identity, goal, decision, todo, preference, fact, event, observation.`
	cmd.Example = `  cairn memories list --kind preference
  cairn memories search "green tea" --channel garden --json
  cairn memories show 12
  cairn memories forget 12`
	return cmd
}

// selection is which memories a command is about, and how it prints them.
type selection struct {
	channel, kind string
	limit, offset int
	json          bool
}

func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.channel, "channel", "", "only those of this channel, by `NAME` (all)")
	f.StringVar(&s.kind, "kind", "", "only those of this `KIND` (all)")
	f.IntVar(&s.limit, "limit", 20, "at most `N` of them")
	f.IntVar(&s.offset, "offset", 0, "leave out the first `N`")
	s.jsonFlag(cmd)
}

func (s *selection) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.json, "json", false, "print one JSON object a line")
}

func newMemoriesList(a *app) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, newest first",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.listMemories(cmd, s, "") },
	}
	s.flags(cmd)
	return cmd
}

func newMemoriesSearch(a *app) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "search WORDS…",
		Short: "Find memories by words, best first",
		Args:  args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.listMemories(cmd, s, strings.Join(words, " "))
		},
	}
	s.flags(cmd)
	return cmd
}

func (a *app) listMemories(cmd *cobra.Command, s selection, query string) error {
	filter := memory.Filter{Query: query, Kind: s.kind, Limit: s.limit, Offset: s.offset}
	if s.limit < 1 || s.offset < 0 {
		return wrongUse(cmd, fmt.Errorf("--limit must be at least 1 and --offset at least 0"))
	}
	if s.channel != "" {
		name, err := conversationName(s.channel)
		if err != nil {
			return err
		}
		filter.Conversation = name
	}
	return a.look(cmd.Context(), func(store *memory.Store) error {
		if s.channel != "" {
			if _, err := find(cmd.Context(), store, s.channel); err != nil {
				return err
			}
		}
		memories, total, err := store.Memories(cmd.Context(), filter)
		if err != nil {
			return err
		}
		for _, m := range memories {
			if err := a.show(a.out, memoryRow{m}, s.json); err != nil {
				return err
			}
		}
		if more := total - s.offset - len(memories); more > 0 {
			fmt.Fprintf(a.err, "%d more; --limit and --offset show them\n", more)
		} else if total == 0 {
			fmt.Fprintln(a.err, "no memories found")
		}
		return nil
	})
}

// memoryRow is a memory as it is printed.
type memoryRow struct{ memory.Memory }

func (m memoryRow) String() string {
	return fmt.Sprintf("%-5d %-11s %s", m.ID, m.Kind, m.Content)
}

func newMemoriesShow(a *app) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a memory and the messages it came from",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(_ *memory.Store, m memoryDetails) error {
				return a.show(a.out, m, s.json)
			})
		},
	}
	s.jsonFlag(cmd)
	return cmd
}

func newMemoriesForget(a *app) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Forget a memory; the messages it came from stay",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(store *memory.Store, m memoryDetails) error {
				if err := store.Forget(cmd.Context(), m.ID); err != nil {
					return err
				}
				if !s.json {
					return a.show(a.out, forgotten(m.Content), false)
				}
				m.State = "forgotten"
				return a.show(a.out, memoryRow{m.Memory}, true)
			})
		},
	}
	s.jsonFlag(cmd)
	return cmd
}

// forgotten is the content of a memory that is gone.
type forgotten string

func (f forgotten) String() string { return "Forgotten: " + string(f) }

// memoryDetails is a memory with the messages it came from.
type memoryDetails struct {
	memory.Memory
	Messages []row `json:"messages"`
}

func (m memoryDetails) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d  %s\n\n", m.ID, m.Content)
	line := func(name, value string) { fmt.Fprintf(&b, "%-12s%s\n", name, cmp.Or(value, "-")) }
	line("kind", m.Kind)
	line("channel", m.Conversation)
	line("said by", m.Speaker)
	line("about", m.About)
	line("said at", m.SaidAt.UTC().Format("2006-01-02 15:04"))
	line("saved by", m.By)
	line("importance", strconv.FormatFloat(m.Importance, 'g', -1, 64))
	line("confirmed", strconv.Itoa(m.Confirmed))
	line("state", m.State)
	for _, r := range m.Messages {
		fmt.Fprintf(&b, "\n%v", r)
	}
	return b.String()
}

// withMemory hands do the memory that id names.
func (a *app) withMemory(cmd *cobra.Command, id string, do func(*memory.Store, memoryDetails) error) error {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return wrongUse(cmd, fmt.Errorf("%q is no memory's number: `cairn memories list` shows them", id))
	}
	return a.look(cmd.Context(), func(store *memory.Store) error {
		m, messages, err := store.Memory(cmd.Context(), n)
		if err != nil {
			if errors.Is(err, memory.ErrNotFound) {
				err = fmt.Errorf("memory %d: %w", n, memory.ErrNotFound)
			}
			return err
		}
		details := memoryDetails{Memory: m, Messages: []row{}}
		for _, message := range messages {
			details.Messages = append(details.Messages, rowOf(message))
		}
		return do(store, details)
	})
}
