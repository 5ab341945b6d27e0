// cairn purge: delete a person's messages, a channel or a whole server for good.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/privacy"
	"cairn/store"
)

// purge has the flags of the command.
type purge struct {
	user, channel, server string
	yes, dryRun           bool
}

func newPurge(a *app) *cobra.Command {
	var p purge
	cmd := &cobra.Command{
		Use:   "purge --user ID|NAME | --channel NAME | --server NAME",
		Short: "Permanently delete a person's messages, a channel or a server",
		Long: `Permanently delete from transcript, search, summaries, memories and files.

--user deletes a person's messages in all channels of their platform, and the memories that came
from them or are about them; the affected summaries are made again from what remains. People are
identified by the platform's id; a name works if only one person has it. --channel deletes
everything in one channel, --server everything in all channels and threads of a server. A thread
is a channel of its own: when its channel is deleted, it loses the summaries copied from there,
but keeps its own messages.

It shows what will be deleted and asks first; without a terminal, --yes is required. The bot must
be stopped. Nothing is deleted on the platform, and nothing is read from there again.`,
		Example: `  cairn purge --user discord:81384788765712384 --dry-run
  cairn purge --channel discord:81384788765712384/81384788862181376
  cairn purge --server slack:T0123456 --yes`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := 0
			for _, name := range []string{p.user, p.channel, p.server} {
				if name != "" {
					given++
				}
			}
			if given != 1 {
				return wrongUse(cmd, errors.New("name one of --user, --channel and --server"))
			}
			return a.purge(cmd.Context(), p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.user, "user", "", "everything of one person, by `ID` or name, after the connector if two have it: discord:ID")
	f.StringVar(&p.channel, "channel", "", "everything of one channel, by `NAME`")
	f.StringVar(&p.server, "server", "", "everything of one server, by `NAME`, as discord:ID; discord:@me is all direct messages")
	f.BoolVar(&p.yes, "yes", false, "do not ask for confirmation")
	f.BoolVar(&p.dryRun, "dry-run", false, "only show what would be deleted; the bot may run")
	a.jsonFlag(cmd, "one JSON object")
	return cmd
}

// purged is what was or would be deleted, in the output.
type purged struct {
	User     *privacy.Who     `json:"user,omitempty"`
	Channels privacy.Holdings `json:"channels"`
	Messages int              `json:"messages"`
	Memories int              `json:"memories"`
	Deleted  bool             `json:"deleted"` // false: a dry run

	in []*store.Conversation
}

func (p purged) String() string {
	var b strings.Builder
	verb := "To be deleted"
	if p.Deleted {
		verb = "Deleted"
	}
	fmt.Fprintf(&b, "%s: %v", verb, p.Channels.Total())
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
	if p.dryRun {
		return a.withSharedStore(ctx, func(db *store.Store) error {
			plan, err := p.plan(ctx, db)
			if err != nil {
				return err
			}
			return a.show(a.out, plan)
		})
	}
	if err := a.load(); err != nil {
		return err
	}
	if _, err := os.Stat(store.File(a.settings.DataDir)); errors.Is(err, fs.ErrNotExist) { // opening it would create a database
		return fmt.Errorf("%s: %w: there is no data; name another folder", a.settings.DataDir, store.ErrNotFound)
	}
	return a.withStore(ctx, false, func(db *store.Store) error { return a.purgeIn(ctx, db, p) })
}

func (a *app) purgeIn(ctx context.Context, db *store.Store, p purge) error {
	db.Held().Watch(privacy.In(db).Apply)
	if err := db.Held().Deliver(ctx); err != nil { // a killed bot may have left some
		return err
	}
	plan, err := p.plan(ctx, db)
	if err != nil {
		return err
	}
	if !p.yes {
		if err := a.confirm(plan); err != nil {
			return err
		}
	}
	if err := plan.delete(ctx, db); err != nil {
		return fmt.Errorf("not everything is deleted; the same command continues: %w", err)
	}
	if err := a.deleteHistory(plan); err != nil {
		return err
	}
	plan.Deleted = true
	if err := a.show(a.out, plan); err != nil {
		return err
	}
	return db.Upkeep().EraseFiles(ctx, backupsOf(&a.settings))
}

// plan finds what to delete; store.ErrNotFound if there is nothing.
func (p purge) plan(ctx context.Context, db *store.Store) (plan purged, err error) {
	if p.user != "" {
		err = plan.ofUser(ctx, db, p.user)
	} else {
		name := strings.TrimSuffix(p.server, "/") + "/"
		if p.channel != "" {
			if name, err = conversationName(p.channel); err != nil {
				return plan, err
			}
		}
		plan.in, plan.Channels, err = privacy.In(db).Holdings(ctx, name)
		if err == nil && len(plan.in) == 0 {
			err = notFound(ctx, db, strings.TrimSuffix(name, "/"))
		}
	}
	total := plan.Channels.Total()
	plan.Messages, plan.Memories = total.Messages, total.Memories
	return plan, err
}

// ofUser plans the deletion of one person's data.
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
		return usage(fmt.Errorf("%q may be several people, %s: name one by connector and id, e.g. --user %s:%s", who, strings.Join(all, ", "), people[0].Connector, people[0].ID))
	}
	p.User = &people[0]
	p.in, p.Channels, err = privacy.In(db).Everywhere(ctx, p.User.Connector, p.User.ID)
	return err
}

func (p *purged) delete(ctx context.Context, db *store.Store) error {
	if p.User == nil {
		for _, c := range p.in {
			if err := privacy.Of(c).Purge(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := privacy.In(db).Erase(ctx, p.User.ID, p.in...); err != nil {
		return err
	}
	for _, c := range p.in {
		for done := false; !done; {
			some, err := privacy.Of(c).EraseSome(ctx, p.User.ID)
			if err != nil {
				return err
			}
			done = some.Done
		}
	}
	return nil
}

// deleteHistory deletes the line history of the terminal if one of its conversations is purged: the
// history does not record which conversation a line went to.
func (a *app) deleteHistory(p purged) error {
	for _, c := range p.in {
		if strings.HasPrefix(c.Name(), "terminal:") {
			err := os.Remove(filepath.Join(a.settings.DataDir, "history"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("delete what was typed at the terminal: %w", err)
			}
			return nil
		}
	}
	return nil
}
