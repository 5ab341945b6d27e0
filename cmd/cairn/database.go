// Where the database of the settings is, and what commands say about one in PostgreSQL.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/config"
	"cairn/store"
	"cairn/store/postgres"
)

// storeOptions returns where the database of settings is.
func storeOptions(s *config.Settings) (store.Options, error) {
	address, err := config.StoreAddress(s)
	if err != nil {
		return store.Options{}, usage(err)
	}
	return store.Options{Dir: s.DataDir, Postgres: address, Schema: s.Schema}, nil
}

// onlyOfFiles returns an error if the database is in PostgreSQL: the command do is for files, and the program instead of it for servers.
func (a *app) onlyOfFiles(do, instead string) error {
	o, err := storeOptions(&a.settings)
	if err != nil || o.Postgres == "" {
		return err
	}
	address, err := postgres.Parse(o.Postgres)
	if err != nil {
		return err
	}
	text := strings.NewReplacer("SCHEMA", o.Schema, "ADDRESS", address.String()).Replace(instead)
	return fmt.Errorf("%w: `cairn %s` has nothing to do; %s", store.ErrNoFile, do, text)
}

const (
	useDump    = "make a backup with `pg_dump --format=custom --schema=SCHEMA --file=cairn.dump \"ADDRESS\"`"
	useRestore = "stop the bot, and restore a backup of pg_dump with `pg_restore --clean --if-exists --single-transaction --dbname=\"ADDRESS\" cairn.dump`"
)

// server checks the database in PostgreSQL.
func (d *doctor) server(ctx context.Context, o store.Options) {
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	server, err := store.ExamineServer(limited, o.Postgres, o.Schema)
	d.report("data", err, server.Facts...)
	if !server.Exists {
		return
	}
	d.hasData = true
	d.report("data", nil, fmt.Sprintf("schema %s: version %d, %s", o.Schema, server.Contents.Version, contentsOf(server.Contents)))
	start := time.Now()
	var found []store.Finding
	err = d.app.withStore(ctx, true, func(db *store.Store) (err error) {
		found, err = db.Upkeep().Check(ctx)
		return err
	})
	if err != nil {
		d.report("data", err)
		return
	}
	for _, f := range found {
		d.report("data", errors.New(f.String()))
	}
	if len(found) == 0 {
		d.report("data", nil, fmt.Sprintf("every conversation is consistent, checked in %v", time.Since(start).Round(time.Millisecond)))
	}
	d.report("data", nil, "the bot makes no backups of PostgreSQL: who runs the server does, with pg_dump or the server's archive")
}
