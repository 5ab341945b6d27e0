package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// TestMain runs the test binary as a separate bot where a test needs one to kill.
func TestMain(m *testing.M) {
	bots := map[string]func(dir string){"busy": busyBot, "erasing": eraseAgainAndAgain, "storing": storeAgainAndAgain}
	if bot, ok := bots[os.Getenv("CAIRN_TEST_BOT")]; ok {
		bot(os.Getenv("CAIRN_TEST_DIR"))
	}
	storetest.Main(m)
}

var ctx = context.Background()

// startBot runs the test binary as another process, see TestMain.
func startBot(t *testing.T, kind, dir string) (bot *exec.Cmd, out io.Reader) {
	t.Helper()
	bot = exec.Command(os.Args[0])
	bot.Env = append(os.Environ(), "CAIRN_TEST_BOT="+kind, "CAIRN_TEST_DIR="+dir)
	bot.Stderr = os.Stderr
	out = check.Must(bot.StdoutPipe())(t)
	check.NoError(t, bot.Start())
	return bot, out
}

// reopen closes the store of a conversation, as a restart does, and returns the conversation.
func reopen(t *testing.T, c *store.Conversation) *store.Conversation {
	t.Helper()
	check.NoError(t, c.Store().Close())
	return storetest.Find(t, storetest.OpenStore(t, storetest.DirOf(c.Store())), c.Name())
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func read(t testing.TB, path string) string {
	t.Helper()
	return string(check.Must(os.ReadFile(path))(t))
}

// openShared opens the store in a folder beside the bot, as a shell command does.
func openShared(t *testing.T, dir string) *store.Store {
	t.Helper()
	return storetest.OpenShared(t, dir)
}

var (
	asking, said         = storetest.Asking, storetest.Said
	deliver, deliverOnly = storetest.Deliver, storetest.DeliverOnly
	edit, remove         = storetest.Edit, storetest.Remove
	dump, number         = storetest.Dump, storetest.Number
	find, load, peek     = storetest.Find, storetest.Load, storetest.Peek
	imported, newTalk    = storetest.Imported, storetest.NewConversation
	message, begin       = storetest.Message, storetest.Worker
)

// play takes steps, separated by semicolons, on a conversation, and returns the ids of the rows that it made, in order. "say
// 3-9" says messages; "edit 5", "delete 5" and "pin 5" change one. "leaf 1-5" and "roll 1-9" prepare a summary with a text that
// may follow a colon, by a worker unless "extractive" follows; the children of a rollup are what is applied in its span. "apply"
// applies all that is prepared since; "sum 1-5" prepares a leaf and applies it. "begin 1-5" only starts a leaf, and "repair 1-5"
// prepares a better one. The others are "hide 1-3", "undo" and "new".
func play(t *testing.T, c *store.Conversation, steps string) (ids []int64) {
	t.Helper()
	var prepared []int64
	for step := range strings.SplitSeq(steps, "; ") {
		step, text, _ := strings.Cut(step, ": ")
		do, rest, _ := strings.Cut(step, " ")
		var sp transcript.Span
		if n, _ := fmt.Sscanf(rest, "%d-%d", &sp.From, &sp.To); n == 1 {
			sp.To = sp.From
		}
		kind := transcript.Leaf
		by := transcript.Worker
		children := []int64(nil)
		if strings.HasSuffix(rest, " extractive") {
			by = transcript.Extractive
		}
		if do == "roll" {
			kind = transcript.Rollup
			for _, row := range active(peek(t, c).Head) {
				if row.Within(sp) {
					children = append(children, row.ID)
				}
			}
		}
		switch do {
		case "say":
			for n := sp.From; n <= sp.To; n++ {
				deliver(t, c, said(int(n), "text"))
			}
		case "ask":
			deliver(t, c, asking(int(sp.From), "text"))
		case "edit":
			edit(t, c, int(sp.From), cmp.Or(text, "other words"))
		case "delete":
			remove(t, c, int(sp.From))
		case "pin":
			check.Must(c.Transcript().Pin(ctx, sp.From, store.Person{Name: "Ada"}))(t)
		case "leaf", "sum", "roll", "begin":
			j := storetest.Begin(t, c, transcript.Summary{Kind: kind, By: by, Span: sp, Children: children})
			ids = append(ids, j.ID())
			if do != "begin" {
				text = cmp.Or(text, fmt.Sprintf("%s of %d to %d", by, sp.From, sp.To))
				check.Must(j.Store(ctx, summarize.Summary{Text: text, Tokens: 7}))(t)
				prepared = append(prepared, j.ID())
			}
		case "repair":
			prepared = append(prepared, repairRow(t, c, transcript.Leaf, sp).ID())
		case "hide":
			storetest.Hide(t, c, sp.From, sp.To)
		case "undo":
			undo(t, c)
		case "new":
			startSession(t, c)
		}
		switch do {
		case "sum":
			apply(t, c, ids[len(ids)-1])
			prepared = prepared[:len(prepared)-1]
		case "apply":
			apply(t, c, prepared...)
			prepared = nil
		}
	}
	return ids
}

// stack formats the summaries that the prompt shows, as "leaf worker 1-5, placeholder emergency 6-9".
func stack(t *testing.T, c *store.Conversation) string {
	t.Helper()
	return storetest.Shape(peek(t, c).Head.Stack)
}

// apply applies rows, and returns the states that they then have.
func apply(t *testing.T, c *store.Conversation, ids ...int64) (states string) {
	t.Helper()
	_, rows := storetest.ApplyRows(t, c, ids...)
	return strings.Join(storetest.Map(rows, func(row transcript.Summary) string { return string(row.State) }), " ")
}

// undo undoes the latest compaction, and fails if that is refused.
func undo(t check.Tester, c *store.Conversation) transcript.Head {
	t.Helper()
	head := storetest.Commit(t, c, latest(t, c).Undo)
	checkCoverage(t, c)
	return head
}

// latest returns the latest compaction; Why says why it cannot be undone.
func latest(t check.Tester, c *store.Conversation) transcript.Undoable {
	t.Helper()
	l := check.Must(c.Compactions().Latest(ctx))(t)
	if l.Why == "" {
		if _, err := l.Undo(storetest.StateOf(t, c)); err != nil {
			l.Why = err.Error()
		}
	}
	return l
}

// startSession starts a session, as an engine does, unless there is nothing to leave behind.
func startSession(t check.Tester, c *store.Conversation) (head transcript.Head, started bool) {
	t.Helper()
	head, err := tryStartSession(t, c)
	started = err == nil
	if errors.Is(err, transcript.ErrEmpty) {
		err = c.Sessions().DropRequest(ctx)
	}
	check.That(t, err == nil, "begin a session: %v", err)
	return head, started
}

func tryStartSession(t check.Tester, c *store.Conversation) (transcript.Head, error) {
	t.Helper()
	return storetest.TryCommit(t, c, func(s *transcript.State) (transcript.Change, error) { return s.NewSession(len(peek(t, c).First) > 0) })
}

// repairRow stores a worker's repair of a row over a span.
func repairRow(t *testing.T, c *store.Conversation, kind transcript.Kind, span transcript.Span, children ...int64) summarize.Job {
	t.Helper()
	j := storetest.Begin(t, c, transcript.Summary{Kind: kind, By: transcript.Worker, Trigger: transcript.OnRepair, Span: span, Children: children})
	check.Must(j.Store(ctx, summarize.Summary{Text: "better", Tokens: 7}))(t)
	return j
}

func ids(messages []chat.Message) []string {
	return storetest.Map(messages, func(m chat.Message) string { return m.ID })
}
