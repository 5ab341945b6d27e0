package main

import (
	"fmt"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// The users of deploy/postgres.sql can do what they are for, and nothing else.
func TestLeastRights(t *testing.T) {
	c := pgtest.New(t)
	check.NoError(t, c.Run("postgres", read(t, checkout+"/deploy/postgres.sql")))
	p := newFolder(t)
	p.bare = true
	p.write("config.toml", fmt.Sprintf("store = %q\n"+noBackups, c.AddressOf("cairn_bot", "postgres")))
	p.fails(exitFailed, "the user cairn_bot may not create or use the schema cairn", "chat")
	check.Contains(t, "the owner's command", p.must("", "upgrade", "--store", c.AddressOf("cairn_owner", "postgres")), "is up to date")

	l := p.start("chat", "--json")
	l.ask(`{"text":"I drink oolong tea","id":"1"}`, `"reply"`)
	l.ask(`{"text":"/remember My cat is called Miso","id":"2"}`, `"reply"`)
	l.ask(`{"text":"/compact","id":"3"}`, `"reply"`)
	l.ask(`{"text":"/undo","id":"4"}`, `"reply"`)
	check.Contains(t, "what is found", p.must("", "recall", "tea"), "oolong")
	l.end()
	p.must("", "purge", "--channel", "terminal:general", "--yes")
	p.doctorSays(exitFailed, "the user cairn_bot does not own the tables", "every conversation is consistent")
	check.Lacks(t, "the log", l.errs.String(), "permission denied")
	check.That(t, c.RunAs("cairn_bot", "postgres", "CREATE TABLE cairn.x (id BIGINT)") != nil, "the bot may create tables")

	check.NoError(t, c.Run("postgres", "UPDATE cairn.cairn SET version = version - 1"))
	said := p.fails(exitFailed, "the user cairn_bot does not own them: run `cairn upgrade --store ADDRESS` with the address of cairn_owner", "chat")
	check.Lacks(t, "the error", said.err, "permission denied")
	check.NoError(t, c.Run("postgres", "UPDATE cairn.cairn SET version = version + 1"))
	for _, right := range []string{"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA cairn FROM", "USAGE ON SCHEMA cairn FROM"} {
		check.NoError(t, c.Run("postgres", "REVOKE "+right+" cairn_bot"))
		_, grants, _ := strings.Cut(p.fails(exitFailed, "the user cairn_bot lacks a right in the schema cairn", "chat").err, "let the owner of its tables run ")
		grants, _, _ = strings.Cut(grants, ": ")
		check.NoError(t, c.RunAs("cairn_owner", "postgres", grants))
		p.must("I am back\n", "chat")
	}
}
