// cairn memories forget, restore, purge, pin, unpin.
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

func newMemoriesForget(a *app) *cobra.Command {
	return newFate(a, fate{
		use: "forget", short: "Forget a memory; its messages stay, and restore undoes it",
		done: "Forgotten (restore undoes it, the messages it came from stay)", state: "forgotten",
		do: memory.AllMemories.Forget,
		not: func(m memory.Memory) error {
			return fmt.Errorf("memory %d was forgotten before: `cairn memories restore %d` takes that back", m.ID, m.ID)
		},
	})
}

func newMemoriesRestore(a *app) *cobra.Command {
	return newFate(a, fate{
		use: "restore", short: "Restore a forgotten memory",
		done: "Restored", do: memory.AllMemories.Restore,
		not: func(m memory.Memory) error { return fmt.Errorf("memory %d is not forgotten: it is %s", m.ID, m.State) },
	})
}

func newMemoriesPin(a *app) *cobra.Command {
	return newFate(a, fate{
		use: "pin", short: "Keep a memory from expiring and fading",
		done: "Pinned", do: pinned(true), not: notCurrent,
	})
}

func newMemoriesUnpin(a *app) *cobra.Command {
	return newFate(a, fate{
		use: "unpin", short: "Let a memory expire and fade again",
		done: "Unpinned", do: pinned(false), not: notCurrent,
	})
}

func pinned(is bool) func(memory.AllMemories, context.Context, int64) error {
	return func(all memory.AllMemories, ctx context.Context, id int64) error { return all.Pin(ctx, id, is) }
}

func notCurrent(m memory.Memory) error {
	return fmt.Errorf("memory %d is not recalled, so it cannot be pinned or unpinned: it is %s", m.ID, m.State)
}

func newMemoriesPurge(a *app) *cobra.Command {
	var yes bool
	cmd := newFate(a, fate{
		use: "purge", short: "Delete a memory for good; its messages stay",
		done: "Purged (the messages it came from stay)", state: "purged",
		do: memory.AllMemories.Purge,
		sure: func(m memory.Memory) error {
			if yes {
				return nil
			}
			return a.sure(fmt.Sprintf("Delete memory %d for good, %q?", m.ID, m.Content))
		},
	})
	cmd.Long = `Delete a memory for good: its row, its words in the index, and what tied it to messages.
What it superseded is superseded by what superseded it. The messages stay.`
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
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

// fate is something that can be done to a memory.
type fate struct {
	use, short, done string
	state            string                    // its state afterwards; empty: the store decides
	sure             func(memory.Memory) error // asks for confirmation; may be nil
	do               func(memory.AllMemories, context.Context, int64) error
	not              func(memory.Memory) error // why the store found nothing to do; may be nil
}

func newFate(a *app, f fate) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:     f.use + " ID",
		Short:   f.short,
		Example: "  cairn memories " + f.use + " 12",
		Args:    needs(1, 1, "name an ID, as `cairn memories list` shows them"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(db *store.Store, details memoryDetails) error {
				m := details.Memory
				if f.sure != nil {
					if err := f.sure(m); err != nil {
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
	return cmd
}

// said is a line for people.
type said string

func (s said) String() string { return string(s) }
