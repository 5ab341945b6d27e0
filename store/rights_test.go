package store_test

import (
	"os"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// The owner of the tables upgrades them beside a bot of another user, who may use the new ones immediately.
func TestUpgradeByTheOwner(t *testing.T) {
	c := pgtest.New(t)
	check.NoError(t, c.Run("postgres", string(check.Must(os.ReadFile("../deploy/postgres.sql"))(t))))
	check.NoError(t, check.Must(onServer(c.AddressOf("cairn_owner", "postgres")))(t).Close())
	bot := join(t, c.AddressOf("cairn_bot", "postgres"))
	talk := bot.claim("terminal:general")
	deliver(t, talk, said(1, "hello"))
	check.NoError(t, bot.Store.Upkeep().EraseFiles(ctx, store.Backups{}))

	defer store.AddMigrations("-- Additive: nobody reads it yet.\nCREATE TABLE notes (\n  id INTEGER PRIMARY KEY AUTOINCREMENT,\n  text TEXT NOT NULL\n) STRICT;")()
	check.ErrorContains(t, "an upgrade by the bot", check.ErrorOf(onServer(c.AddressOf("cairn_bot", "postgres"))), "the user cairn_bot does not own them")
	check.NoError(t, check.Must(onServer(c.AddressOf("cairn_owner", "postgres")))(t).Close())
	deliver(t, talk, said(2, "I still run"))
	upgraded := check.Must(onServer(c.AddressOf("cairn_bot", "postgres")))(t)
	check.NoError(t, upgraded.Update(ctx, func(tx *store.Tx) {
		check.That(t, tx.Do("INSERT INTO notes (text) VALUES ('a new table')"), "the bot cannot write to the new table")
	}))
	check.NoError(t, upgraded.Close())
}
