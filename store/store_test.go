package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/store"
)

func TestOpen(t *testing.T) {
	t.Run("folder and files are private under any umask", func(t *testing.T) {
		old := syscall.Umask(0)
		defer syscall.Umask(old)
		dir := filepath.Join(t.TempDir(), "a", "data")
		leaveStore(t, dir)
		check.NoError(t, os.Chmod(filepath.Join(dir, store.DatabaseName), 0o644))
		storetest.Find(t, storetest.OpenStore(t, dir), "terminal:other")
		check.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: got rights %v", path, info.Mode())
			}
			return nil
		}))
	})
	t.Run("a folder name may contain blanks, question marks and percent signs", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "wh?t #a %41 b'd&_query_only=on \u00e9")
		storetest.Find(t, storetest.OpenStore(t, dir), "terminal:general")
		check.Must(os.Stat(filepath.Join(dir, store.DatabaseName)))(t)
	})
}

// A start that has nothing to bring up to date must not wait for the disk.
func TestReopenWritesNothing(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	storetest.Find(t, s, "terminal:general")
	s.Close()
	read := func() string { return string(check.Must(os.ReadFile(filepath.Join(dir, store.DatabaseName)))(t)) }
	before := read()
	s = storetest.OpenStore(t, dir)
	check.Equal(t, "writes by Open", check.Must(os.Stat(filepath.Join(dir, store.DatabaseName+"-wal")))(t).Size(), 0)
	s.Close()
	check.Equal(t, "file", read() == before, true)
}

func TestOpenErrors(t *testing.T) {
	t.Run("open errors are plain", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		broken, folder, newer, foreign := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
		write(t, filepath.Dir(file), "file", "")
		write(t, broken, store.DatabaseName, strings.Repeat("no database ", 1000))
		write(t, foreign, store.DatabaseName, "")
		runScripts(t, foreign, "PRAGMA journal_mode = DELETE; CREATE TABLE stones (x); PRAGMA user_version = 1")
		theirs := read(t, store.File(foreign))
		check.NoError(t, os.Mkdir(filepath.Join(folder, store.DatabaseName), 0o700))
		s := storetest.OpenStore(t, newer)
		check.Must(s.Writing().Exec("PRAGMA user_version = 99"))(t)
		s.Close()
		for _, test := range []struct {
			o    store.Options
			is   error
			text string
		}{
			{store.Options{Dir: file}, nil, "not a directory"},
			{store.Options{Dir: broken}, nil, "is damaged or no database of cairn"},
			{store.Options{Dir: broken, Shared: true}, nil, "is damaged or no database of cairn"},
			{store.Options{Dir: folder}, nil, "is a directory"},
			{store.Options{Dir: newer}, store.ErrNewer, "update cairn"},
			{store.Options{Dir: newer, Shared: true}, store.ErrNewer, "update cairn"},
			{store.Options{Dir: t.TempDir(), Shared: true}, store.ErrNotFound, "talk to the bot first"},
			{store.Options{Dir: folder, Shared: true}, nil, "is a directory"},
			{store.Options{Dir: foreign}, nil, "is another program's database: choose another data folder"},
			{store.Options{Dir: foreign, Shared: true}, nil, "is another program's database"},
		} {
			s, err := store.Open(ctx, test.o)
			if err == nil {
				s.Close()
				t.Errorf("%+v: no error", test.o)
				continue
			}
			if test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%+v: %v, want %q", test.o, err, test.text)
			}
		}
		check.NoError(t, check.ErrorOf(os.Stat(store.File(broken))))
		check.Equal(t, "another program's file is unchanged", read(t, store.File(foreign)) == theirs, true)
		reopened, err := store.Open(ctx, store.Options{Dir: newer})
		check.That(t, errors.Is(err, store.ErrNewer), "a refused folder stays locked, or opens: %v, %v", reopened, err)
	})
	t.Run("a message needs an existing conversation", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		_, err := s.Writing().Exec(`INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to,
			calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens)
			VALUES (1 << 32 | 1, 1, 'user', 'x', '', '', '', '', '', '', '', '', '', 0, 0, 0, 2, 0, 0)`)
		check.ErrorContains(t, "error", err, "FOREIGN KEY")
	})
}

func TestMigration(t *testing.T) {
	t.Run("a failed migration leaves the old version whole", func(t *testing.T) {
		dir := t.TempDir()
		leaveStore(t, dir)
		restore := store.AddMigrations("CREATE TABLE more (x INTEGER) STRICT", "CREATE TABLE more (x INTEGER) STRICT")
		defer restore()
		if s, err := store.Open(ctx, store.Options{Dir: dir}); err == nil {
			s.Close()
			t.Fatal("opened")
		}
		restore()
		s := storetest.OpenStore(t, dir)
		check.NoError(t, check.ErrorOf(s.Find(ctx, "terminal:general")))
		check.Equal(t, "got half a migration", storetest.Number(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'more'"), 0)
	})
	t.Run("a reader migrates nothing", func(t *testing.T) {
		dir := t.TempDir()
		leaveStore(t, dir)
		defer store.AddMigrations("CREATE TABLE more (x INTEGER) STRICT")()
		_, err := store.Open(ctx, store.Options{Dir: dir, Shared: true})
		check.ErrorContains(t, "error", err, "start the bot once")
	})
}

// leaveStore makes a store with one conversation and closes it.
func leaveStore(t *testing.T, dir string) {
	t.Helper()
	s := check.Must(store.Open(ctx, store.Options{Dir: dir}))(t)
	storetest.Find(t, s, "terminal:general")
	check.NoError(t, s.Close())
}

// A killed bot leaves no lock and no half turn, and loses nothing it acknowledged.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	acknowledged := 0
	for range 3 {
		acknowledged = max(acknowledged, killBusyBot(t, dir))
	}
	s := storetest.OpenStore(t, dir)
	c := storetest.Find(t, s, "terminal:general")
	for n := 1; n <= acknowledged; n++ {
		id := fmt.Sprintf("m%d", n)
		here := storetest.Number(t, s, "SELECT (SELECT count(*) FROM inbox WHERE platform_id = ?1) + (SELECT count(*) FROM messages WHERE platform_id = ?1 AND role = 'user')", id)
		check.Require(t, here == 1, "message %s: got %d copies", id, here)
	}
	check.Equal(t, "answered turns without an answer", storetest.Number(t, s, `SELECT count(*) FROM messages q WHERE answered = 1 AND NOT EXISTS (SELECT 1 FROM messages a WHERE a.turn = q.turn AND a.role = 'assistant')`), 0)
	check.Equal(t, "answers missing in the outbox", storetest.Number(t, s, `SELECT count(*) FROM messages a WHERE role = 'assistant' AND NOT EXISTS (SELECT 1 FROM outbox WHERE reply = 'r' || a.turn)`), 0)
	check.Equal(t, "messages, the next seq follows", storetest.Number(t, s, "SELECT count(*) FROM messages"), int(storetest.Load(t, c).Next-1))
}

// killBusyBot runs a bot on dir, kills it in the middle of its work, and returns the last message
// it acknowledged.
func killBusyBot(t *testing.T, dir string) (acknowledged int) {
	t.Helper()
	bot, out := startBot(t, "CAIRN_TEST_BOT="+dir)
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		acknowledged = check.Must(strconv.Atoi(lines.Text()))(t)
		if i == 0 {
			check.Error(t, check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), store.ErrInUse)
		}
		if i == 40 {
			check.NoError(t, bot.Process.Kill())
		}
	}
	bot.Wait() // reports that it was killed
	return acknowledged
}

// busyBot dequeues and answers messages until it is killed, and prints the number of each that it
// may acknowledge.
func busyBot(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := store.Open(ctx, store.Options{Dir: dir})
	check(err)
	c, err := s.Conversation(ctx, "terminal:general")
	check(err)
	for n := 1; ; n++ {
		receipt, err := c.Inbox().Deliver(ctx, storetest.Asking(n, fmt.Sprintf("message number %d", n)))
		check(err)
		fmt.Println(n)
		if receipt.Seq > 0 {
			continue // from an earlier process
		}
		taken, err := c.Inbox().Dequeue(ctx, store.All, 100, time.Time{})
		check(err)
		if turn, ok, err := c.Turns().Unanswered(ctx); err != nil || ok && len(taken) > 0 {
			check(err)
			check(c.Turns().Finish(ctx, store.Outcome{
				Turn: turn.Seq, Reply: fmt.Sprintf("r%d", turn.Seq), To: turn.To, Pieces: []string{"yes"},
				Messages: []chat.Message{{Seq: taken[len(taken)-1].Seq + 1, Turn: turn.Seq, Role: llm.RoleAssistant, Text: "yes", Time: storetest.Day}},
			}))
		}
	}
}
