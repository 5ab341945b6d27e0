// cairn memories forget, restore, purge, pin, unpin.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cairn/connector/terminal"
	"cairn/memory"
	"cairn/store"
)

// stateChange is a command that changes a memory.
type stateChange struct {
	use, short, long, done string
	permanent              bool // asks for confirmation, or requires --yes
	do                     func(memory.Memories, context.Context, int64) error
	body                   map[string]any // for the running bot, which does the same; nil: it deletes
}

var stateChanges = []stateChange{
	{
		use: "forget", short: "Forget a memory; its messages stay, and restore undoes it",
		done: "Forgotten (restore undoes it; the messages it came from stay)", do: memory.Memories.Forget, body: map[string]any{"state": "forgotten"},
	},
	{use: "restore", short: "Restore a forgotten memory", done: "Restored", do: memory.Memories.Restore, body: map[string]any{"state": "active"}},
	{
		use: "purge", short: "Permanently delete a memory; its messages stay",
		long: `Permanently delete a memory: its row, its index entries and its links to messages. A memory that
it superseded is then superseded by the one that superseded it, or current again. The messages
stay.`,
		done: "Purged (the messages it came from stay)", permanent: true, do: memory.Memories.Purge,
	},
	{use: "pin", short: "Keep a memory from expiring and fading", done: "Pinned", do: pinned(true), body: map[string]any{"pinned": true}},
	{use: "unpin", short: "Let a memory expire and fade again", done: "Unpinned", do: pinned(false), body: map[string]any{"pinned": false}},
}

func pinned(is bool) func(memory.Memories, context.Context, int64) error {
	return func(all memory.Memories, ctx context.Context, id int64) error { return all.Pin(ctx, id, is) }
}

// confirm asks before something is deleted for good, unless yes is the answer; without a terminal it
// returns an error.
func (c *console) confirm(ctx context.Context, what fmt.Stringer, yes bool) error {
	switch {
	case yes:
		return nil
	case !isTerminal(c.in):
		return usage(errors.New("nothing was deleted: without a terminal, confirm with --yes"))
	}
	fmt.Fprint(c.err, wrapped(c.err, terminal.Printable(what.String())+"\nThis cannot be undone. Type yes to delete it: "))
	for answer := range terminal.Lines(ctx, c.in) { // the end of the input means no
		if strings.TrimSpace(answer.Text) == "yes" {
			return nil
		}
		break
	}
	return cmp.Or(ctx.Err(), errors.New("nothing was deleted"))
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
			id, err := memoryNumber(cmd, ids[0])
			if err != nil {
				return err
			}
			return a.changeMemory(cmd.Context(), f, id, yes || !f.permanent)
		},
	}
	a.withJSON("one JSON object per line", cmd)
	if f.permanent {
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	}
	return cmd
}

// memoryOwner reads and changes memories: the running bot, or this process.
type memoryOwner struct {
	read   func(ctx context.Context, id int64) (memory.Details, error)
	change func(ctx context.Context, id int64) error
}

func (a *app) changeMemory(ctx context.Context, f stateChange, id int64, confirmed bool) error {
	bot, err := a.findToChange(ctx)
	switch {
	case err != nil:
		return err
	case bot != nil:
		return a.changeBy(ctx, memoryOwner{bot.memory, func(ctx context.Context, id int64) error { return bot.change(ctx, id, f.body) }}, f, id, confirmed)
	}
	return a.withSharedStore(ctx, func(db *store.Store) error {
		memories := memory.In(db)
		return a.changeBy(ctx, memoryOwner{memories.Details, func(ctx context.Context, id int64) error { return f.do(memories, ctx, id) }}, f, id, confirmed)
	})
}

func (a *app) changeBy(ctx context.Context, owner memoryOwner, f stateChange, id int64, confirmed bool) error {
	m, err := owner.read(ctx, id)
	if err != nil {
		return noMemory(id, err)
	}
	err = a.confirm(ctx, m.Memory, confirmed)
	if err == nil {
		err = owner.change(ctx, id)
	}
	if err != nil {
		return err
	}
	was := m.Memory
	done := f.done
	if f.permanent {
		m.State = "purged"
	} else {
		m, err = owner.read(ctx, id)
	}
	if err != nil {
		return err
	}
	if m.State == was.State && m.Pinned == was.Pinned {
		done = "Already " + strings.ToLower(done)
	}
	return a.show(a.out, changedMemory{m.Memory, done})
}

type changedMemory struct {
	memory.Memory
	done string
}

func (m changedMemory) String() string { return m.done + ": " + m.Content }
