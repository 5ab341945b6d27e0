package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// tablesOf returns what `cairn copy --json` printed of the tables.
func tablesOf(t *testing.T, out string) string {
	t.Helper()
	var result store.CopyResult
	check.NoError(t, json.Unmarshal([]byte(out), &result))
	check.That(t, result.Rows > 0 && len(result.Tables) > 20, "copied %+v", result)
	return fmt.Sprint(result.Tables)
}

func TestCopyCommand(t *testing.T) {
	c := pgtest.New(t)
	p := newFolder(t, "COPY_TO="+c.Address("postgres"))
	p.must("I drink oolong tea\n/remember My cat is called Miso\n", "chat")
	p.write("address", "postgres://ann:hush-hush@127.0.0.1:1/bot")
	p.refuses(exitUsage, "copy", map[string]string{
		"":                                               "name both databases with --from and --to",
		"--from data":                                    "name both databases with --from and --to",
		"--from data --to ./data":                        "--from and --to are the same database",
		"--from data/cairn.db --to x":                    "--from: data/cairn.db is a file: name its folder",
		"--from data --to env:COPY_NOWHERE":              "--to: the environment variable COPY_NOWHERE is not set",
		"--from data --to mysql://x":                     "--to: the address must look like \"postgres://user@host/database\"",
		"--from data --to file:none":                     "--to: must be a file that can be read",
		"--from data --to data --to-schema X\"":          "--from and --to are the same database",
		"--from data --to env:COPY_TO --to-schema Cairn": `--to: the schema "Cairn" must be of lower-case letters`,
	})
	p.fails(exitNotFound, "there is no data yet", "copy", "--from", "none", "--to", "x")
	r := p.fails(exitFailed, "copy to: open schema cairn of postgres://ann@127.0.0.1:1/bot: nothing listens", "copy", "--from", "data", "--to", "file:address")
	check.Lacks(t, "the error", r.err, "hush")
	l := p.start("chat", "--json")
	l.ask(`{"text":"hello","id":"1"}`, `"reply"`)
	p.fails(exitInUse, "copy from: ", "copy", "--from", "data", "--to", "x")
	l.end()

	out := p.must("", "copy", "--from", "data", "--to", "env:COPY_TO", "--to-schema", "two")
	check.Contains(t, "output", out, "Copied and compared ", "  from "+filepath.Join(p.dir, "data", "cairn.db")+"\n  to   schema two of postgres://cairn@/postgres?host=",
		`To use it, set store to its address and schema to "two" in the settings, and start the bot.`)
	p.fails(exitUsage, "it is not empty: name a database without data", "copy", "--from", "data", "--to", "env:COPY_TO", "--to-schema", "two")
	back := tablesOf(t, p.must("", "copy", "--from", "env:COPY_TO", "--from-schema", "two", "--to", "back", "--json"))
	check.Equal(t, "rows and digests", tablesOf(t, p.must("", "copy", "--from", "data", "--to", "again", "--json")), back)

	there := newFolder(t).with(fmt.Sprintf("store = %q\nschema = \"two\"\n", c.Address("postgres")))
	for _, command := range [][]string{{"transcript"}, {"memories", "list", "--json"}, {"recall", "oolong cat"}} {
		was := p.must("", command...)
		check.That(t, len(was) > 50, "%s prints only %q", command, was)
		check.Equal(t, command[0]+" on PostgreSQL", there.must("", command...), was)
		check.Equal(t, command[0]+" of the second copy", p.must("", append(command, "--data", "back")...), was)
	}
	there.must("Hello again\n", "chat")
	check.Contains(t, "the transcript", there.must("", "transcript"), "Hello again")
}

// wantUnfinished checks that nothing but the copy opens a database.
func (p folder) wantUnfinished(args ...string) {
	p.t.Helper()
	const words = "it is an unfinished copy of "
	for _, command := range []string{"chat", "recall tea", "purge --channel x --yes"} {
		p.fails(exitDamaged, words, append(strings.Fields(command), args...)...)
	}
	r := p.run("", append([]string{"doctor"}, args...)...)
	check.That(p.t, r.code == exitFailed && strings.Contains(r.out, "WRONG  data") && strings.Contains(r.out, words), "cairn doctor: %d, %s", r.code, r.out)
}

// TestKillACopy kills `cairn copy` with SIGKILL at steps of its work. The same command finishes it; until then nothing else opens the copy.
func TestKillACopy(t *testing.T) {
	check.SkipUnderRace(t)
	p := importFolder(t)
	p.must("", "import", "--channel", "past", "past.jsonl")
	p.execute("UPDATE memories SET superseded_by = (SELECT max(id) FROM memories) WHERE id < 5")
	want := tablesOf(t, p.must("", "copy", "--from", "data", "--to", "want", "--json"))
	for i, s := range []step{
		{name: "the database is new", death: killStep{Schema: 1}},
		{name: "the first rows are being copied", death: killStep{On: "INSERT ON main.conversations", At: atRow}},
		{name: "the second batch is being copied", death: killStep{On: "INSERT ON main.messages", When: "new.seq = 1050", At: atRow}},
		{name: "the second batch is about to be committed", death: killStep{On: "INSERT ON main.messages", When: "new.seq = 1050", At: atCommit}},
		{name: "the second batch was copied", death: killStep{On: "INSERT ON main.messages", When: "new.seq = 1050", At: after}},
		{name: "a memory's successor is about to be noted", death: killStep{On: "UPDATE ON main.memories", At: atCommit}},
		{name: "the counters are about to be set", death: killStep{On: "UPDATE ON main.memories", At: after}},
	} {
		t.Run(s.name, func(t *testing.T) {
			to := fmt.Sprint("copy", i)
			again := []string{"copy", "--from", "data", "--to", to, "--json"}
			dying := p
			dying.t = t
			dying.env = append(dying.env[:len(dying.env):len(dying.env)], s.death.env(t))
			dying.start(again...).killed()
			if s.death.Schema == 0 {
				p.wantUnfinished("--data", to)
			}
			check.Equal(t, "rows and digests", tablesOf(t, p.must("", again...)), want)
			check.Contains(t, "what is found", p.must("", "recall", "--data", to, "--channel", "past", "town 1099"), "town 1099")
		})
	}
}

// TestKillACopyToPostgres kills `cairn copy` while the server makes it wait: before a table, and before the end.
func TestKillACopyToPostgres(t *testing.T) {
	check.SkipUnderRace(t)
	c := pgtest.New(t)
	p := importFolder(t)
	p.must("", "import", "--channel", "past", "past.jsonl")
	want := tablesOf(t, p.must("", "copy", "--from", "data", "--to", "want", "--json"))
	again := []string{"copy", "--from", "data", "--to", c.Address("postgres"), "--json"}
	empty := check.Must(store.Open(t.Context(), store.Options{Postgres: c.Address("postgres"), Schema: "cairn"}))(t)
	check.NoError(t, empty.Close())
	there := newFolder(t).with(fmt.Sprintf("store = %q\n", c.Address("postgres")))
	db := c.Connect("postgres", "cairn")
	defer db.Close()
	count := func(query string) (n int) {
		check.NoError(t, db.QueryRow(query).Scan(&n))
		return n
	}
	waitAt := func(table string) (l *live, release func() error) {
		holder := check.Must(db.BeginTx(context.Background(), nil))(t)
		check.Must(holder.Exec("LOCK TABLE " + table + " IN SHARE MODE"))(t)
		l = p.start(again...)
		eventually(t, "the copy waits", l.errs.String, func() bool { return count("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0 })
		return l, holder.Rollback
	}
	l, release := waitAt("conversations")
	l.signal(syscall.SIGINT)
	check.NoError(t, release())
	l.exits(130)
	check.Contains(t, "what it says", l.errs.String(), "cairn: stopped: run the same command again to continue")
	for _, table := range []string{"messages", "message_terms", "unfinished_copy"} {
		l, release := waitAt(table)
		check.NoError(t, l.cmd.Process.Kill())
		l.killed()
		check.Equal(t, "all messages are copied", count("SELECT count(*) FROM messages") == importedMessages, table != "messages")
		count("SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE NOT granted") // it might do what it was last asked for, or not
		check.NoError(t, release())
		there.wantUnfinished()
	}
	check.Equal(t, "rows and digests", tablesOf(t, p.must("", again...)), want)
	check.Contains(t, "what is found", there.must("", "recall", "--channel", "past", "town 1099"), "town 1099")
}
