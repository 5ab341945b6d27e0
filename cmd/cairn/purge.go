// cairn purge: delete for good.

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
	"cairn/web"
)

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

It shows what will be deleted and asks first; without a terminal, --yes is required. It works while the
bot runs, which then deletes it itself, and rewrites its files within 24 hours. Nothing is deleted on
the platform, and nothing is read from there again.`,
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
	f.BoolVar(&p.dryRun, "dry-run", false, "only show what would be deleted")
	return cmd
}

// purged is what was deleted, or would be.
type purged struct{ web.Purged }

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
	of := privacy.Selection{User: p.user, Server: p.server}
	if p.channel != "" {
		name, err := conversationName(p.channel)
		if err != nil {
			return err
		}
		of.Conversation = name
	}
	find := a.findToChange
	if p.dryRun {
		find = a.findReadable
	}
	bot, err := find(ctx)
	switch {
	case err != nil:
		return err
	case bot != nil:
		return a.purgeBeside(ctx, bot, p, of)
	}
	where, err := storeOptions(&a.settings)
	if err != nil {
		return err
	}
	where.Shared = p.dryRun
	where.Existing = true
	return a.withStoreAt(ctx, where, func(db *store.Store) error { return a.purgeIn(ctx, db, p, of) })
}

// purgeIn deletes from the database, which no bot uses.
func (a *app) purgeIn(ctx context.Context, db *store.Store, p purge, of privacy.Selection) error {
	plan, err := privacy.In(db).Select(ctx, of)
	several, unclear := errors.AsType[*privacy.SeveralError](err)
	switch {
	case unclear:
		return usage(fmt.Errorf("%w: name one by its id, e.g. --user %s:%s", several, several.People[0].Connector, several.People[0].ID))
	case errors.Is(err, store.ErrNotFound) && of.User == "":
		return notFound(ctx, db, of.Conversation+strings.TrimSuffix(of.Server, "/"))
	case err != nil:
		return err
	}
	shown := purged{web.PurgedOf(plan)}
	if p.dryRun {
		return a.show(a.out, shown)
	}
	if err := a.confirm(ctx, shown, p.yes); err != nil {
		return err
	}
	if err := deletePlan(ctx, db, plan); err != nil {
		return fmt.Errorf("not everything is deleted; the same command continues: %w", err)
	}
	if err := a.forgetTyped(shown.Purged); err != nil {
		return err
	}
	shown.Deleted = true
	if err := a.show(a.out, shown); err != nil {
		return err
	}
	return db.Upkeep().EraseFiles(ctx, backupsOf(&a.settings))
}

// forgetTyped deletes the history of typed lines, if something of the terminal was deleted: it does not record which conversation a
// line went to.
func (a *app) forgetTyped(p web.Purged) error {
	if !slices.ContainsFunc(p.Channels, func(h privacy.Holding) bool { return strings.HasPrefix(h.Channel, "terminal:") }) {
		return nil
	}
	if err := os.Remove(filepath.Join(a.settings.DataDir, "history")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete what was typed at the terminal: %w", err)
	}
	return nil
}

func deletePlan(ctx context.Context, db *store.Store, p privacy.Plan) error {
	step := func(c *store.Conversation) (done bool, err error) { return true, privacy.Of(c).Purge(ctx) }
	if p.User != nil {
		if _, err := privacy.In(db).Erase(ctx, *p.User, p.In...); err != nil {
			return err
		}
		step = func(c *store.Conversation) (done bool, err error) {
			some, err := privacy.Of(c).EraseSome(ctx, p.User.ID)
			return some.Done, err
		}
	}
	for _, c := range p.In {
		for done, err := false, error(nil); !done; {
			done, err = step(c)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
