package store_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// TestMain runs the test binary as a separate bot where a test needs one to kill.
func TestMain(m *testing.M) {
	time.Local = time.UTC // the program's default: rendered text must not depend on the machine
	if dir := os.Getenv("CAIRN_TEST_BOT"); dir != "" {
		busyBot(dir)
	}
	if dir := os.Getenv("CAIRN_TEST_ERASE"); dir != "" {
		eraseAgainAndAgain(dir)
	}
	if dir := os.Getenv("CAIRN_TEST_HOLD"); dir != "" {
		from, _ := strconv.Atoi(os.Getenv("CAIRN_TEST_FROM"))
		holdAgainAndAgain(dir, from)
	}
	storetest.Main(m)
}

var ctx = context.Background()

// startBot runs the test binary as another process, see TestMain.
func startBot(t *testing.T, env ...string) (bot *exec.Cmd, out io.Reader) {
	t.Helper()
	bot = exec.Command(os.Args[0])
	bot.Env = append(os.Environ(), env...)
	bot.Stderr = os.Stderr
	out = check.Must(bot.StdoutPipe())(t)
	check.NoError(t, bot.Start())
	return bot, out
}

// reopen closes the store of a conversation, as a restart does, and returns the conversation.
func reopen(t *testing.T, c *store.Conversation) *store.Conversation {
	t.Helper()
	check.NoError(t, c.Store().Close())
	return storetest.Find(t, storetest.OpenStore(t, filepath.Dir(c.Store().Path())), c.Name())
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func read(t testing.TB, path string) string {
	t.Helper()
	text := check.Must(os.ReadFile(path))(t)
	return string(text)
}

// openShared opens the store in a folder beside the bot, as a shell command does.
func openShared(t *testing.T, dir string) *store.Store {
	t.Helper()
	s := check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t)
	t.Cleanup(func() { s.Close() })
	return s
}
