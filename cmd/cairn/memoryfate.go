// cairn memories forget, restore, purge, pin, unpin: one command for each change of a memory.

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
	"cairn/terminal"
)

// stateChange is a command that changes a memory.
type stateChange struct {
	use, short, long, done string
	permanent              bool // asks for confirmation, or requires --yes
	do                     func(memory.Memories, context.Context, int64) error
}

var stateChanges = []stateChange{
	{
		use: "forget", short: "Forget a memory; its messages stay, and restore undoes it",
		done: "Forgotten (restore undoes it; the messages it came from stay)", do: memory.Memories.Forget,
	},
	{use: "restore", short: "Restore a forgotten memory", done: "Restored", do: memory.Memories.Restore},
	{
		use: "purge", short: "Permanently delete a memory; its messages stay",
		long: `Permanently delete a memory: its row, its index entries and its links to messages. A memory that
it superseded is then superseded by the one that superseded it, or current again. The messages
stay.`,
		done: "Purged (the messages it came from stay)", permanent: true, do: memory.Memories.Purge,
	},
	{use: "pin", short: "Keep a memory from expiring and fading", done: "Pinned", do: pinned(true)},
	{use: "unpin", short: "Let a memory expire and fade again", done: "Unpinned", do: pinned(false)},
}

func pinned(is bool) func(memory.Memories, context.Context, int64) error {
	return func(all memory.Memories, ctx context.Context, id int64) error { return all.Pin(ctx, id, is) }
}

// confirm asks the person at the terminal before what is deleted for good; without a terminal it
// returns an error.
func (a *app) confirm(what fmt.Stringer) error {
	if !isTerminal(a.in) {
		return usage(errors.New("nothing was deleted: without a terminal, confirm with --yes"))
	}
	fmt.Fprint(a.err, terminal.Printable(what.String())+"\nThis cannot be undone. Type yes to delete it: ")
	answer, _ := bufio.NewReader(a.in).ReadString('\n') // the end of the input means no
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}

func newStateChange(a *app, f stateChange) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:     f.use + " ID",
		Short:   f.short,
		Long:    f.long,
		Example: "  cairn memories " + f.use + " 12",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.withMemory(cmd, ids[0], func(db *store.Store, m memory.Details) error {
				if f.permanent && !yes {
					if err := a.confirm(m.Memory); err != nil {
						return err
					}
				}
				err := f.do(memory.In(db), cmd.Context(), m.ID)
				if err != nil {
					return err
				}
				was, done := m.Memory, f.done
				if f.permanent {
					m.State = "purged"
				} else if m, err = memory.In(db).Details(cmd.Context(), m.ID); err != nil {
					return err
				}
				if m.State == was.State && m.Pinned == was.Pinned {
					done = "Already " + strings.ToLower(done)
				}
				return a.show(a.out, changedMemory{m.Memory, done})
			})
		},
	}
	a.jsonFlag(cmd, "one JSON object per line")
	if f.permanent {
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	}
	return cmd
}

// changedMemory is a memory after its change, in the output.
type changedMemory struct {
	memory.Memory
	done string
}

func (m changedMemory) String() string { return m.done + ": " + m.Content }
