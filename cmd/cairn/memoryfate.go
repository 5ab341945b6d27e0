// cairn memories forget, restore, purge, pin, unpin: one command for each fate.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cairn/memory"
	"cairn/store"
)

// stateChange is something that can be done to a memory.
type stateChange struct {
	use, short, long, done string
	state                  string // its state afterwards; empty: the store decides
	forGood                bool   // it asks before, or wants --yes
	do                     func(memory.AllMemories, context.Context, int64) error
	not                    func(memory.Memory) error // why the store found nothing to do; may be nil
}

var fates = []stateChange{
	{
		use: "forget", short: "Forget a memory; its messages stay, and restore undoes it",
		done: "Forgotten (restore undoes it, the messages it came from stay)", state: "forgotten",
		do: memory.AllMemories.Forget,
		not: func(m memory.Memory) error {
			return fmt.Errorf("memory %d was forgotten before: `cairn memories restore %d` takes that back", m.ID, m.ID)
		},
	},
	{
		use: "restore", short: "Restore a forgotten memory", done: "Restored", do: memory.AllMemories.Restore,
		not: func(m memory.Memory) error { return fmt.Errorf("memory %d is not forgotten: it is %s", m.ID, m.State) },
	},
	{
		use: "purge", short: "Delete a memory for good; its messages stay",
		long: `Delete a memory for good: its row, its words in the index, and what tied it to messages.
What it superseded is superseded by what superseded it. The messages stay.`,
		done: "Purged (the messages it came from stay)", state: "purged", forGood: true, do: memory.AllMemories.Purge,
	},
	{use: "pin", short: "Keep a memory from expiring and fading", done: "Pinned", do: pinned(true), not: notCurrent},
	{use: "unpin", short: "Let a memory expire and fade again", done: "Unpinned", do: pinned(false), not: notCurrent},
}

func pinned(is bool) func(memory.AllMemories, context.Context, int64) error {
	return func(all memory.AllMemories, ctx context.Context, id int64) error { return all.Pin(ctx, id, is) }
}

func notCurrent(m memory.Memory) error {
	return fmt.Errorf("memory %d is not recalled, so it cannot be pinned or unpinned: it is %s", m.ID, m.State)
}

// sure asks the person at the terminal; without one it is an error.
func (a *app) sure(question string) error {
	if !isTerminal(a.in) {
		return usage(errors.New("this cannot be undone: say --yes"))
	}
	fmt.Fprint(a.err, question+" [y/N] ")
	answer, _ := bufio.NewReader(a.in).ReadString('\n') // the end of the input means no
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}

func newStateChange(a *app, f stateChange) *cobra.Command {
	var s selection
	var yes bool
	cmd := &cobra.Command{
		Use:     f.use + " ID",
		Short:   f.short,
		Long:    f.long,
		Example: "  cairn memories " + f.use + " 12",
		Args:    needs(1, 1, "name an ID, as `cairn memories list` shows them"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(db *store.Store, details memoryDetails) error {
				m := details.Memory
				if f.forGood && !yes {
					if err := a.sure(fmt.Sprintf("Delete memory %d for good, %q?", m.ID, m.Content)); err != nil {
						return err
					}
				}
				err := f.do(memory.In(db), cmd.Context(), m.ID)
				if errors.Is(err, store.ErrNotFound) && f.not != nil {
					return f.not(m)
				}
				if err != nil {
					return err
				}
				if f.state != "" {
					m.State = f.state
				} else if m, _, err = memory.In(db).Get(cmd.Context(), m.ID); err != nil {
					return err
				}
				if s.json {
					return a.show(a.out, memoryRow{Memory: m}, true)
				}
				return a.show(a.out, said(f.done+": "+m.Content), false)
			})
		},
	}
	s.jsonFlag(cmd)
	if f.forGood {
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	return cmd
}

// said is a line for people.
type said string

func (s said) String() string { return string(s) }
