// cairn backup, restore: copy everything, bring the copy back.

package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"cairn/store"
)

func newBackup(a *app) *cobra.Command {
	return a.withJSON("one JSON object", &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a verified copy of the database to FILE",
		Long: `Write a copy of the database to a new file that only you can read, and verify it. It works while
the bot runs. It contains everything, including what is deleted later: protect it like the data folder.`,
		Example: `  cairn backup cairn-$(date +%F).db`,
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := a.onlyOfFiles("backup", useDump); err != nil {
				return err
			}
			return a.withSharedStore(cmd.Context(), func(db *store.Store) error {
				c, err := db.Upkeep().Backup(cmd.Context(), files[0])
				if errors.Is(err, fs.ErrExist) {
					err = usage(fmt.Errorf("%w: the file is unchanged; name a new file", err))
				}
				if err != nil {
					return err
				}
				return a.show(a.out, copied{File: files[0], Copied: c, done: "Backed up to"})
			})
		},
	})
}

func newRestore(a *app) *cobra.Command {
	return a.withJSON("one JSON object", &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the database with a backup",
		Long: `Verify a backup, also one of an older cairn, and replace the database with a copy of it. The old
database is kept beside it, under the printed name. The bot must be stopped.`,
		Example: `  cairn restore cairn-2026-05-01.db`,
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := a.onlyOfFiles("restore", useRestore); err != nil {
				return err
			}
			c, aside, err := store.Restore(cmd.Context(), a.settings.DataDir, files[0])
			if err != nil {
				return err
			}
			return a.show(a.out, copied{File: files[0], Aside: aside, Copied: c, done: "Restored from"})
		},
	})
}

type copied struct {
	File  string `json:"file"`
	Aside string `json:"aside,omitempty"` // where the data that existed before was moved
	store.Copied
	done string // for people: what was done
}

func contentsOf(c store.Copied) string {
	return fmt.Sprintf("%s of %s, %s, %.1f MB", counted(c.Messages, "message", "messages"),
		counted(c.Conversations, "conversation", "conversations"), counted(c.Memories, "memory", "memories"), float64(c.Bytes)/1e6)
}

func (c copied) String() string {
	text := fmt.Sprintf("%s %s, checked: %s.", c.done, c.File, contentsOf(c.Copied))
	if c.Aside != "" {
		text += "\nThe previous database is kept as " + c.Aside
	}
	return text
}
