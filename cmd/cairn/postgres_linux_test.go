package main

import (
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// onPostgres returns a folder whose database is in a cluster.
func onPostgres(t *testing.T, c *pgtest.Cluster) folder {
	p := newFolder(t)
	p.bare = true
	return p.with(fmt.Sprintf("store = %q\n", c.Address("postgres")))
}

func TestCommandsOnPostgres(t *testing.T) {
	c := pgtest.New(t)
	p := onPostgres(t, c)
	p.fails(exitNotFound, "there is no data yet; start the bot first", "recall", "tea")
	p.fails(exitNotFound, "there is no data yet; start the bot first", "purge", "--channel", "terminal:general", "--yes")
	p.doctorSays(exitFailed, "which answers in ", "schema cairn: there is none yet; the bot creates it")
	p.must("I drink oolong tea\n/remember My cat is called Miso\n", "chat")
	p.prints("recall", map[string][]string{"tea": {"oolong"}, "Miso": {"cat"}})
	p.prints("memories", map[string][]string{"list": {"Miso"}, "search cat": {"Miso"}, "stats": {"1"}})
	p.prints("transcript", map[string][]string{"": {"oolong"}})
	p.prints("channels", map[string][]string{"": {"terminal:general"}})
	p.prints("context", map[string][]string{"": {"verbatim"}})
	p.write("past.jsonl", `{"id":"1","time":"2026-01-02T03:04:05Z","author":"Ann","text":"We met in Lisbon"}`+"\n")
	p.must("", "import", "past.jsonl", "--channel", "terminal:past")
	p.prints("recall", map[string][]string{"Lisbon --channel terminal:past": {"We met in Lisbon"}})
	p.doctorSays(exitFailed, "schema cairn: version ", " messages of 2 conversations, 1 memory", "every conversation is consistent", "the bot makes no backups of PostgreSQL")
	p.fails(exitFailed, "make a backup with `pg_dump --format=custom --schema=cairn", "backup", "x.db")
	p.fails(exitFailed, "pg_restore --clean --if-exists", "restore", "x.db")

	l := p.start("chat", "--json")
	l.ask(`{"text":"hello","id":"1"}`, `"reply"`)
	check.Contains(t, "an answer beside the bot", p.must("", "ask", "hello"), "Hello")
	elsewhere := p // as another machine, which has no socket of that bot
	elsewhere.dir = t.TempDir()
	elsewhere.write("config.toml", p.read("config.toml"))
	elsewhere.fails(exitInUse, "stop it, or name another schema", "chat")
	check.Contains(t, "beside the bot", p.must("", "recall", "tea"), "oolong")
	l.end()
	p.must("", "purge", "--channel", "terminal:general", "--yes")
	check.Lacks(t, "after the purge", p.must("", "recall", "tea", "--channel", "terminal:past"), "oolong")

	c.Down()
	p.fails(exitFailed, "nothing listens at postgres://cairn@/postgres?host=", "recall", "tea")
	check.NoError(t, c.Up())
}

// What the words of `cairn backup` and `cairn restore` say is what brings the data back.
func TestDumpAndRestore(t *testing.T) {
	for _, program := range []string{"pg_dump", "pg_restore"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	p := onPostgres(t, pgtest.New(t))
	p.must("I drink oolong tea\n", "chat")
	follow := func(command string) {
		t.Helper()
		_, line, _ := strings.Cut(p.run("", command, "x").err, "with `")
		line, _, _ = strings.Cut(line, "`")
		shell := exec.Command("sh", "-c", line)
		shell.Dir = p.dir
		out, err := shell.CombinedOutput()
		check.Require(t, err == nil, "%s: %v: %s", line, err, out)
	}
	follow("backup")
	was := p.must("", "transcript", "--json")
	p.must("And I have a cat\n", "chat")
	follow("restore")
	check.Equal(t, "the transcript", p.must("", "transcript", "--json"), was)
	p.must("I have a dog\n", "chat")
	p.doctorSays(exitFailed, "every conversation is consistent")
}

// The queries of the documentation find the same on both databases.
func TestDocumentedQueriesOnPostgres(t *testing.T) {
	c := pgtest.New(t)
	p := fillGarden(t)
	p.must("/remember we meet at nine\n", "chat")
	p.addWhatQueriesFind()
	p.must("", "copy", "--from", filepath.Join(p.dir, "data"), "--to", c.Address("postgres"))
	here := database(t, filepath.Join(p.dir, "data"))
	there := c.Connect("postgres", "cairn")
	defer there.Close()
	for question, query := range queriesOf(t, read(t, checkout+"/docs/queries.md")) {
		check.EqualAll(t, question, printed(t, there, query), printed(t, here, query))
	}
}

// printed returns the rows of a query as text. Numbers have one form, whatever their type.
func printed(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.Query(query)
	check.Require(t, err == nil, "%s: %v", query, err)
	defer rows.Close()
	columns := check.Must(rows.Columns())(t)
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		check.NoError(t, rows.Scan(into...))
		for i, v := range values {
			columns[i] = v.String
			if number, err := strconv.ParseFloat(v.String, 64); err == nil {
				columns[i] = fmt.Sprint(number)
			}
		}
		list = append(list, strings.Join(columns, "|"))
	}
	check.NoError(t, rows.Err())
	slices.Sort(list) // where the query leaves the order open
	return list
}

func TestKilledBotOnPostgres(t *testing.T) {
	p := onPostgres(t, pgtest.New(t))
	l := p.start("chat", "--json")
	l.ask(`{"text":"We meet in Lisbon on Friday","id":"1"}`, `"accepted"`)
	check.NoError(t, l.cmd.Process.Kill())
	check.Contains(t, "after a start", p.must("/recall lisbon\n", "chat"), "We meet in Lisbon on Friday")
}

// While the server is away, people are told and nothing is acknowledged; when it is back, all goes on without a restart.
func TestServerStopsUnderABot(t *testing.T) {
	c := pgtest.New(t)
	p := newPlatforms(t)
	model := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("Here I am.") })
	f := p.folder(fmt.Sprintf("store = %q\n", c.Address("postgres")), modelAt(model)...)
	r := f.start("run", "--health", "127.0.0.1:0")
	p.open(r)
	p.sayOnBoth("one")
	p.answered(r, "Here I am.", 1)
	address := "http://" + p.telling(r)
	c.Down()
	p.sayOnBoth("two")
	r.logs(`"store_message_failed","connector":"discord"`, `"store_message_failed","connector":"slack"`)
	p.wait(r, p.onDiscord, "I cannot store your message right now. I will keep trying")
	p.wait(r, p.onSlack, "I cannot store your message right now. I will keep trying")
	for _, d := range p.slack.Deliveries() {
		if !d.Acked.IsZero() {
			check.Lacks(t, "an acknowledged message that is not stored", string(d.Payload), "two")
		}
	}
	alive, said := get(t, address+"/healthz")
	check.That(t, alive == 200 && strings.Contains(said, `"parts":[]`), "a restart would not help, and the bot asks for one: %d, %s", alive, said)
	ready, said := get(t, address+"/readyz")
	check.That(t, ready == 503 && strings.Contains(said, `"part":"database","ok":false`), "ready without a database: %d, %s", ready, said)
	check.NoError(t, c.Up())
	p.answered(r, "Here I am.", 2)
	p.wait(r, p.onDiscord, "I cannot store your message right now. I will keep trying") // the answer has not taken its place
	p.wait(r, p.onSlack, "I cannot store your message right now. I will keep trying")
	p.sayOnBoth("three")
	p.answered(r, "Here I am.", 3)
	r.stop()
	check.Equal(t, "warnings", strings.Count(r.errs.String(), "store_message_failed"), 2)
	check.Lacks(t, "the log", r.errs.String(), "panic")
	check.Contains(t, "where the data is", r.errs.String(), `"data":"schema cairn of postgres://cairn@/postgres?host=`)
	files := check.Must(filepath.Glob(filepath.Join(f.dir, "data", "*-wal")))(t)
	check.Len(t, "files of SQLite that are in use", files, 0)
}
