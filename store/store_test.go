package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestOpen(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	t.Run("folder and files are private under any umask", func(t *testing.T) {
		old := syscall.Umask(0)
		defer syscall.Umask(old)
		dir := filepath.Join(t.TempDir(), "a", "wh?t #a %41 b'd&_query_only=on \u00e9") // whatever its name
		leaveStore(t, dir)
		check.NoError(t, os.Chmod(store.File(dir), 0o644))
		find(t, storetest.OpenStore(t, dir), "terminal:other")
		files := check.Must(filepath.Glob(dir + "/*"))(t)
		check.Require(t, len(files) >= 2, "got only %q", files)
		for _, path := range append(files, dir, filepath.Dir(dir)) {
			mode := check.Must(os.Stat(path))(t).Mode()
			check.That(t, mode.Perm()&0o077 == 0, "%s: got rights %v", path, mode)
		}
	})
	t.Run("a start that has nothing to bring up to date does not wait for the disk", func(t *testing.T) {
		dir := t.TempDir()
		leaveStore(t, dir)
		before := read(t, store.File(dir))
		s := storetest.OpenStore(t, dir)
		check.Equal(t, "writes by Open", read(t, store.File(dir)+"-wal"), "")
		s.Close()
		check.Equal(t, "the file is unchanged", read(t, store.File(dir)) == before, true)
	})
}

func TestOpenErrors(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	broken := t.TempDir()
	folder := t.TempDir()
	newer := t.TempDir()
	foreign := t.TempDir()
	file := filepath.Join(broken, "file")
	write(t, broken, "file", "")
	write(t, broken, store.DatabaseName, strings.Repeat("no database ", 1000))
	write(t, foreign, store.DatabaseName, "")
	runScripts(t, foreign, "PRAGMA journal_mode = DELETE; CREATE TABLE stones (x); PRAGMA user_version = 1")
	theirs := read(t, store.File(foreign))
	check.NoError(t, os.Mkdir(store.File(folder), 0o700))
	leaveStore(t, newer)
	runScripts(t, newer, "PRAGMA user_version = 99")
	for _, test := range []struct {
		dir    string
		shared bool
		text   string
	}{
		{file, false, "not a directory"},
		{broken, false, "is damaged, nothing was changed: file is not a database"},
		{broken, true, "is damaged, nothing was changed: file is not a database"},
		{folder, false, "is a directory"},
		{folder, true, "is a directory"},
		{newer, false, "update cairn"},
		{newer, true, "update cairn"},
		{t.TempDir(), true, "talk to the bot first"},
		{foreign, false, "is another program's database: choose another data folder"},
		{foreign, true, "is another program's database"},
	} {
		_, err := store.Open(ctx, store.Options{Dir: test.dir, Shared: test.shared})
		check.ErrorContains(t, fmt.Sprintf("%+v", test), err, test.text)
		check.Equal(t, "newer", errors.Is(err, store.ErrNewer), test.dir == newer)
		check.Equal(t, "not found", errors.Is(err, store.ErrNotFound), test.text == "talk to the bot first")
	}
	check.Must(os.Stat(store.File(broken)))(t)
	check.Equal(t, "another program's file is unchanged", read(t, store.File(foreign)) == theirs, true)
	check.Error(t, check.ErrorOf(store.Open(ctx, store.Options{Dir: newer})), store.ErrNewer) // it does not stay locked
	_, err := newTalk(t).Store().Writing().Exec(`INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to,
		calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens)
		VALUES (9 << 32 | 1, 1, 'user', 'x', '', '', '', '', '', '', '', '', '', 0, 0, 0, 2, 0, 0)`)
	check.ErrorContains(t, "a message of no conversation", err, "FOREIGN KEY")
}

func TestDeliveriesOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "cairn.held", "messages")
	check.ErrorContains(t, "error", check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), "start that version once")
}

func TestMigration(t *testing.T) {
	storetest.SQLiteOnly(t, "migrations of earlier versions")
	dir := t.TempDir()
	leaveStore(t, dir)
	const more = "CREATE TABLE more (x INTEGER) STRICT"
	t.Run("a reader migrates nothing", func(t *testing.T) {
		defer store.AddMigrations(more)()
		check.ErrorContains(t, "error", check.ErrorOf(store.Open(ctx, store.Options{Dir: dir, Shared: true})), "start the bot once")
	})
	restore := store.AddMigrations(more, more)
	defer restore()
	check.ErrorContains(t, "the migration", check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), "more")
	restore()
	s := storetest.OpenStore(t, dir) // the old version is whole
	check.NoError(t, check.ErrorOf(s.Find(ctx, "terminal:general")))
	check.Equal(t, "half a migration", number(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'more'"), 0)
}

// leaveStore makes a store with one conversation and closes it.
func leaveStore(t *testing.T, dir string) {
	t.Helper()
	s := check.Must(store.Open(ctx, store.Options{Dir: dir}))(t)
	find(t, s, "terminal:general")
	check.NoError(t, s.Close())
}

// A killed bot leaves no lock and no half turn, and loses nothing it acknowledged.
func TestLock(t *testing.T) {
	storetest.SQLiteOnly(t, "a file for two processes")
	dir := t.TempDir()
	acknowledged := 0
	for range 2 {
		bot, out := startBot(t, "busy", dir)
		lines := bufio.NewScanner(out)
		for i := 0; lines.Scan(); i++ {
			acknowledged = check.Must(strconv.Atoi(lines.Text()))(t)
			if i == 0 {
				check.Error(t, check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), store.ErrInUse)
			}
			if i == 40 { // in the middle of its work
				check.NoError(t, bot.Process.Kill())
			}
		}
		_ = bot.Wait() // reports that it was killed
	}
	s := storetest.OpenStore(t, dir)
	c := find(t, s, "terminal:general")
	for n := 1; n <= acknowledged; n++ {
		here := number(t, s, "SELECT (SELECT count(*) FROM inbox WHERE platform_id = ?1) + (SELECT count(*) FROM messages WHERE platform_id = ?1 AND role = 'user')", said(n, "").ID)
		check.Require(t, here == 1, "message %d: got %d copies", n, here)
	}
	for what, query := range map[string]string{
		"answered turns without an answer": `SELECT count(*) FROM messages q WHERE answered = 1 AND NOT EXISTS (SELECT 1 FROM messages a WHERE a.turn = q.turn AND a.role = 'assistant')`,
		"answers missing in the outbox":    `SELECT count(*) FROM messages a WHERE role = 'assistant' AND NOT EXISTS (SELECT 1 FROM outbox WHERE reply = 'r' || a.turn)`,
	} {
		check.Equal(t, what, number(t, s, query), 0)
	}
	check.Equal(t, "messages, the next seq follows", messagesIn(t, s), int(load(t, c).Next-1))
}

// busyBot dequeues and answers messages until it is killed, and prints the number of each that it may acknowledge.
func busyBot(dir string) {
	c := must(must(store.Open(ctx, store.Options{Dir: dir})).Conversation(ctx, "terminal:general"))
	for n := 1; ; n++ {
		receipt := must(c.Inbox().Deliver(ctx, asking(n, fmt.Sprintf("message number %d", n))))[0]
		fmt.Println(n)
		if receipt.Seq > 0 {
			continue // from an earlier process
		}
		taken := must(c.Inbox().Dequeue(ctx, store.All, 100, time.Time{}))
		turn, ok, err := c.Turns().Unanswered(ctx)
		if must(ok, err) && len(taken) > 0 {
			must(c.Turns().Finish(ctx, store.Outcome{
				Turn: turn.Seq, Reply: fmt.Sprintf("r%d", turn.Seq), To: turn.To, Pieces: []string{"yes"},
				Messages: []chat.Message{{Seq: taken[len(taken)-1].Seq + 1, Turn: turn.Seq, Role: llm.RoleAssistant, Text: "yes", Time: storetest.Day}},
			}))
		}
	}
}

func TestWrittenElsewhere(t *testing.T) {
	storetest.SQLiteOnly(t, "a number that changes with each write of another process: on PostgreSQL that leaves events")
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	number := func() int64 { return check.Must(s.Upkeep().WrittenElsewhere(ctx))(t) }
	before := number()
	deliver(t, find(t, s, "terminal:general"), said(1, "hello"))
	shell := openShared(t, dir)
	check.Must(shell.Unfinished(ctx))(t)
	if !storetest.OnPostgres {
		check.Must(shell.Upkeep().Backup(ctx, filepath.Join(t.TempDir(), "copy")))(t)
	}
	check.Equal(t, "after own writes, and another process that reads", number(), before)
	check.NoError(t, shell.Update(ctx, func(tx *store.Tx) { tx.Conversation("terminal:general").NextVersion(tx) }))
	check.That(t, number() != before, "another process has written, and the number is the same")
}

var errBroken = errors.New("broken")

func insertConversation(tx *store.Tx, name string) {
	tx.Do("INSERT INTO conversations (name, created_at) VALUES (?, 0)", name)
}

// TestTransactionsAreAtomic: want is what the error says; "": the transaction commits.
func TestTransactionsAreAtomic(t *testing.T) {
	storetest.SQLiteOnly(t, "these errors")
	const again = "INSERT OR ROLLBACK INTO conversations (name, created_at) VALUES ('x', 0)"
	type do = func(tx *store.Tx, end context.CancelFunc)
	run := func(statements ...string) do {
		return func(tx *store.Tx, _ context.CancelFunc) {
			for _, statement := range statements {
				tx.Do(statement)
			}
		}
	}
	for name, test := range map[string]struct {
		do   do
		want string
	}{
		"that ends well":                    {run(), ""},
		"that fails":                        {func(tx *store.Tx, _ context.CancelFunc) { tx.Fail(errBroken) }, "broken"},
		"that breaks":                       {func(*store.Tx, context.CancelFunc) { panic(errBroken) }, "broken"},
		"whose statement fails":             {run("INSERT INTO nowhere VALUES (1)"), "no such table"},
		"that SQLite has taken back itself": {run(again), "UNIQUE"},
		"that SQLite will not commit": {
			run("PRAGMA defer_foreign_keys = ON", "INSERT INTO wanted_sessions (conversation, after, wanted_at) VALUES (99, 0, 0)"), "FOREIGN KEY",
		},
		"that goes on after a failure": {run(again, "INSERT INTO conversations (name, created_at) VALUES ('late', 0)", "INSERT INTO nowhere VALUES (1)"), "UNIQUE"},
		"whose value cannot be read":   {func(tx *store.Tx, _ context.CancelFunc) { store.Get[int](tx, "SELECT 1 FROM nowhere") }, "no such table"},
		"that wants a row where there is none": {func(tx *store.Tx, _ context.CancelFunc) {
			check.That(t, !store.Found(tx, "SELECT 1 WHERE 0", new(int)), "a row was found")
			store.Scan(tx, "SELECT 1 WHERE 0", new(int))
		}, "not found"},
		"that is no longer wanted": {func(_ *store.Tx, end context.CancelFunc) { end() }, "context canceled"},
		"that is no longer wanted, and writes": {func(tx *store.Tx, end context.CancelFunc) {
			end()
			check.That(t, !tx.Do("INSERT INTO conversations (name, created_at) VALUES ('late', 0)"), "a statement ran")
		}, "context canceled"},
		"that is no longer wanted, and reads": {func(tx *store.Tx, end context.CancelFunc) {
			end()
			check.That(t, !store.Found(tx, "SELECT 1", new(int)), "a query ran")
			store.Each(tx, func(*sql.Rows) error { return errors.New("a query ran") }, "SELECT 1")
		}, "context canceled"},
		"in which a query stands open while others run": {func(tx *store.Tx, _ context.CancelFunc) {
			store.Each(tx, func(rows *sql.Rows) error {
				var id int64
				err := rows.Scan(&id)
				store.Scan(tx, fmt.Sprintf("SELECT id FROM conversations WHERE id = %d", id), &id)
				return err
			}, "SELECT id FROM conversations")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.OpenStore(t, t.TempDir())
			limited, end := context.WithCancel(ctx)
			defer end()
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = p.(error)
					}
				}()
				return s.Update(limited, func(tx *store.Tx) {
					insertConversation(tx, "x")
					test.do(tx, end)
				})
			}()
			check.Equal(t, "failed", err != nil, test.want != "")
			check.Contains(t, "error", fmt.Sprint(err), test.want)
			check.Equal(t, "rows", number(t, s, "SELECT count(*) FROM conversations") == 1, test.want == "")
			// The connection is as good as before.
			check.NoError(t, s.Update(ctx, func(tx *store.Tx) { insertConversation(tx, "y") }))
			check.That(t, s.View(ctx, func(tx *store.Tx) { insertConversation(tx, "z") }) != nil, "a read transaction wrote")
		})
	}
}

func TestUnknownColumnIsNotIgnored(t *testing.T) {
	c := storetest.NewConversation(t)
	err := c.Update(t.Context(), "write", func(tx *store.Tx) {
		tx.UpdateColumns(store.RecordedSummary{}, "state", "txt")
	})
	check.That(t, err != nil && strings.Contains(err.Error(), "txt"), "got %v", err)
}
