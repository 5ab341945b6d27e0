// cairn copy: copy the whole database to another place, e.g. from SQLite to PostgreSQL.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cairn/config"
	"cairn/store"
	"cairn/store/postgres"
)

// copySide is a database as the command line names it.
type copySide struct{ address, schema string }

func newCopy(a *app) *cobra.Command {
	var from, to copySide
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "copy --from ADDRESS --to ADDRESS",
		Short: "Copy the whole database, e.g. from SQLite to PostgreSQL",
		Long: `Copy the whole database to another one: from SQLite to PostgreSQL, back, or between two of a
kind. An address is a data folder, or what the setting "store" takes: postgres://…, file:PATH or
env:NAME. The bot must be stopped. The database that is copied stays as it is; the other one must
be new or empty.

All rows are compared at the end. If the copy is stopped or killed, run the same command again to
continue. Until it is finished, nothing else opens the new database.`,
		Example: `  cairn copy --from data --to file:secrets/store
  cairn copy --from file:secrets/store --to /srv/cairn/data`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from.address == "" || to.address == "" {
				return wrongUse(cmd, errors.New("name both databases with --from and --to"))
			}
			return a.copy(cmd.Context(), from, to)
		},
	})
	f := cmd.Flags()
	f.StringVar(&from.address, "from", "", "the database at `ADDRESS`")
	f.StringVar(&to.address, "to", "", "the new database at `ADDRESS`")
	f.StringVar(&from.schema, "from-schema", "cairn", "its schema `NAME`, in PostgreSQL")
	f.StringVar(&to.schema, "to-schema", "cairn", "its schema `NAME`, in PostgreSQL")
	return cmd
}

func (a *app) copy(ctx context.Context, from, to copySide) error {
	source, err := a.options(from)
	if err != nil {
		return usage(fmt.Errorf("--from: %w", err))
	}
	target, err := a.options(to)
	if err != nil {
		return usage(fmt.Errorf("--to: %w", err))
	}
	if source == target {
		return usage(errors.New("--from and --to are the same database"))
	}
	shown := progress{}
	result, err := store.Copy(ctx, source, target, a.showCopy(&shown))
	shown.done()
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(a.err, wrapped(a.err, "cairn: stopped: run the same command again to continue"))
		return ctx.Err()
	case errors.Is(err, store.ErrNotEmpty):
		return usage(err)
	case err != nil:
		return err
	}
	return a.show(a.out, copyResult{result, target})
}

// options returns where the database of a side is.
func (a *app) options(s copySide) (o store.Options, err error) {
	address, plain, err := a.settings.Resolve(s.address)
	switch {
	case err != nil:
		return o, err
	case plain && !strings.Contains(address, "://"):
		o.Dir, err = filepath.Abs(address)
		if info, missing := os.Stat(address); missing == nil && !info.IsDir() {
			err = fmt.Errorf("%s is a file: name its folder", address)
		}
		return o, err
	}
	server, err := postgres.Parse(address)
	if err != nil {
		return o, fmt.Errorf("the address %w", err)
	}
	a.secrets.learn(server.Password())
	if !config.IsSchema(s.schema) {
		return o, fmt.Errorf("the schema %q must %s", s.schema, config.SchemaForm)
	}
	return store.Options{Postgres: address, Schema: s.schema}, nil
}

// showCopy returns a function that shows how far a copy is.
func (a *app) showCopy(p *progress) func(store.CopyProgress) {
	*p = newProgress(a.err)
	return func(now store.CopyProgress) {
		step := map[bool]string{false: "copied", true: "compared"}[now.Compared]
		if step != p.step {
			p.begin(step, int(now.Done))
		}
		p.write(int(now.Done), int(now.Total), "row", "rows")
	}
}

type copyResult struct {
	store.CopyResult
	target store.Options
}

func (c copyResult) String() string {
	next := fmt.Sprintf("set store to its address and schema to %q", c.target.Schema)
	if c.target.Postgres == "" {
		next = fmt.Sprintf("remove store, and set data_dir to %q", c.target.Dir)
	}
	return fmt.Sprintf("Copied and compared %s of %d tables.\n  from %s\n  to   %s\nTo use it, %s in the settings, and start the bot.",
		counted(int(c.Rows), "row", "rows"), len(c.Tables), c.From, c.To, next)
}
