// cairn backup, restore, purge: copy everything, bring the copy back, delete for good.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/privacy"
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

type purge struct {
	user, channel, server string
	yes, dryRun           bool
}

func newPurge(a *app) *cobra.Command {
	var p purge
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "purge --user ID|NAME | --channel NAME | --server NAME",
		Short: "Permanently delete a person's messages, a channel or a server",
		Long: `Permanently delete from transcript, search, summaries, memories and files.

--user deletes a person's messages in all channels of their platform, and the memories that came
from them or are about them; the affected summaries are rewritten from what remains. --channel
deletes everything in one channel, --server everything in all channels and threads of a server. A
thread is a channel of its own: when its channel is deleted, it keeps its own messages.

It shows what will be deleted and asks first; without a terminal, --yes is required. The bot must
be stopped. Nothing is deleted on the platform, and nothing is read from there again.`,
		Example: `  cairn purge --user discord:81384788765712384 --dry-run
  cairn purge --channel discord:81384788765712384/81384788862181376
  cairn purge --server slack:T0123456 --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			empty := func(name string) bool { return name == "" }
			if len(slices.DeleteFunc([]string{p.user, p.channel, p.server}, empty)) != 1 {
				return wrongUse(cmd, errors.New("name one of --user, --channel and --server"))
			}
			return a.purge(cmd.Context(), p)
		},
	})
	f := cmd.Flags()
	f.StringVar(&p.user, "user", "", "everything of one person, by `ID` or name: Ada, discord:ID")
	f.StringVar(&p.channel, "channel", "", "everything of one channel, by `NAME`")
	f.StringVar(&p.server, "server", "", "everything of one server, by `NAME`, as discord:ID; discord:@me is all direct messages")
	f.BoolVar(&p.yes, "yes", false, "do not ask for confirmation")
	f.BoolVar(&p.dryRun, "dry-run", false, "only show what would be deleted; the bot may run")
	return cmd
}

type purged struct {
	User     *store.Person    `json:"user,omitempty"`
	Channels privacy.Holdings `json:"channels"`
	Messages int              `json:"messages"`
	Memories int              `json:"memories"`
	Deleted  bool             `json:"deleted"` // false: a dry run

	in []*store.Conversation
}

func (p purged) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", map[bool]string{true: "Deleted", false: "To be deleted"}[p.Deleted], p.Channels.Total())
	if p.User != nil {
		fmt.Fprintf(&b, " of %v", *p.User)
	}
	for _, c := range p.Channels {
		fmt.Fprintf(&b, "\n  %-50s %s, %s", c.Channel, counted(c.Messages, "message", "messages"), counted(c.Memories, "memory", "memories"))
	}
	return b.String()
}

var counted = chat.Counted

func (a *app) purge(ctx context.Context, p purge) error {
	where, err := storeOptions(&a.settings)
	if err != nil {
		return err
	}
	where.Shared = p.dryRun
	where.Existing = true
	return a.withStoreAt(ctx, where, func(db *store.Store) error {
		plan, err := p.plan(ctx, db)
		if err != nil {
			return err
		}
		if p.dryRun {
			return a.show(a.out, plan)
		}
		if err := a.confirm(ctx, plan, p.yes); err != nil {
			return err
		}
		if err := plan.delete(ctx, db); err != nil {
			return fmt.Errorf("not everything is deleted; the same command continues: %w", err)
		}
		if slices.ContainsFunc(plan.in, func(c *store.Conversation) bool { return strings.HasPrefix(c.Name(), "terminal:") }) {
			// The history of typed lines does not record which conversation a line went to.
			if err := os.Remove(filepath.Join(a.settings.DataDir, "history")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("delete what was typed at the terminal: %w", err)
			}
		}
		plan.Deleted = true
		if err := a.show(a.out, plan); err != nil {
			return err
		}
		return db.Upkeep().EraseFiles(ctx, backupsOf(&a.settings))
	})
}

// plan finds what to delete; store.ErrNotFound if there is nothing.
func (p purge) plan(ctx context.Context, db *store.Store) (plan purged, err error) {
	if p.user != "" {
		err = plan.ofUser(ctx, db, p.user)
	} else {
		name := strings.TrimSuffix(p.server, "/") + "/"
		if p.channel != "" {
			name, err = conversationName(p.channel)
			if err != nil {
				return plan, err
			}
		}
		plan.in, plan.Channels, err = privacy.In(db).Holdings(ctx, name)
		if err == nil && len(plan.in) == 0 {
			err = notFound(ctx, db, strings.TrimSuffix(name, "/"))
		}
	}
	total := plan.Channels.Total()
	plan.Messages = total.Messages
	plan.Memories = total.Memories
	return plan, err
}

func (p *purged) ofUser(ctx context.Context, db *store.Store, who string) error {
	people, err := privacy.In(db).Find(ctx, "", who)
	switch {
	case err != nil:
		return err
	case len(people) == 0:
		return fmt.Errorf("%q: %w: no one with that id or name has messages here", who, store.ErrNotFound)
	case len(people) > 1:
		var all []string
		for _, one := range people {
			all = append(all, one.String())
		}
		return usage(fmt.Errorf("%q may be several people, %s: name one by its id, e.g. --user %s:%s", who, strings.Join(all, ", "), people[0].Connector, people[0].ID))
	}
	p.User = &people[0]
	p.in, p.Channels, err = privacy.In(db).Everywhere(ctx, *p.User)
	return err
}

func (p *purged) delete(ctx context.Context, db *store.Store) error {
	step := func(c *store.Conversation) (done bool, err error) { return true, privacy.Of(c).Purge(ctx) }
	if p.User != nil {
		if _, err := privacy.In(db).Erase(ctx, *p.User, p.in...); err != nil {
			return err
		}
		step = func(c *store.Conversation) (done bool, err error) {
			some, err := privacy.Of(c).EraseSome(ctx, p.User.ID)
			return some.Done, err
		}
	}
	for _, c := range p.in {
		for done, err := false, error(nil); !done; {
			done, err = step(c)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
