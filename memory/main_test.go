package memory

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/transcript"
)

// TestMain runs the test binary as a separate bot where a test needs one to kill, and as a
// read-only process where a test needs one.
func TestMain(m *testing.M) {
	time.Local = time.UTC // the program's default: what is rendered must not depend on the machine
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
	if dir := os.Getenv("CAIRN_TEST_LOOK"); dir != "" {
		lookOn(dir)
		return
	}
	// Every step of a property test waits for the disk; -rapid.checks can request more.
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var ctx = context.Background()

var day = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s := check.Must(Open(ctx, Options{Dir: dir}))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func newConversation(t testing.TB) *Conversation {
	t.Helper()
	return find(t, openStore(t, t.TempDir()), "terminal:general")
}

func find(t testing.TB, s *Store, name string) *Conversation {
	t.Helper()
	c := check.Must(s.Conversation(ctx, name))(t)
	return c
}

// said returns message number n of a conversation, alternately by Ann and Bob.
func said(n int, text string) Inbound {
	return Inbound{
		ID: fmt.Sprintf("m%d", n), AuthorID: fmt.Sprint(n % 2), Author: []string{"Ann", "Bob"}[n%2],
		Text: text, Time: day.Add(time.Duration(n) * time.Minute),
	}
}

// imported fills a new conversation with n messages, each a turn of its own.
func imported(t testing.TB, n int) *Conversation {
	t.Helper()
	c := newConversation(t)
	past := make([]Inbound, n)
	for i := range past {
		past[i] = said(i+1, fmt.Sprintf("message number %d", i+1))
	}
	check.Must(c.Past().Import(ctx, past))(t)
	return c
}

// deliver puts messages into the inbox and takes them up.
func deliver(t testing.TB, c *Conversation, messages ...Inbound) []chat.Message {
	t.Helper()
	for _, m := range messages {
		check.Must(c.Inbox().Deliver(ctx, m))(t)
	}
	taken := check.Must(c.Inbox().TakeUp(ctx, All, 1<<30, time.Time{}))(t)
	return taken
}

// Remember saves a memory as a person's request.
func (ms Memories) Remember(ctx context.Context, d summarize.MemoryDraft, person string) (m Memory, fresh bool, err error) {
	s, err := ms.Keep(ctx, KeepRequest{MemoryDraft: d, Person: person})
	return s.Memory, s.Fresh, err
}

func load(t testing.TB, c *Conversation) transcript.Snapshot {
	t.Helper()
	state := check.Must(c.Compactions().Load(ctx))(t)
	return state
}

// peek reads the state as Load does, and leaves running rows alone.
func peek(t tester, c *Conversation) (state transcript.Snapshot) {
	t.Helper()
	err := c.store.view(ctx, func(tx *transaction) (err error) {
		state, err = c.load(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// edit changes the text of message number n, as said numbers them, a day later.
func edit(t tester, c *Conversation, n int, text string) (seq int64) {
	t.Helper()
	m := said(n, text)
	m.Time = m.Time.AddDate(0, 0, 1)
	seq, changed, err := c.Transcript().Edit(ctx, m)
	if err != nil || !changed {
		t.Errorf("edit of message %d: changed %v, %v", n, changed, err)
	}
	return seq
}

// remove deletes messages, as said numbers them.
func remove(t tester, c *Conversation, numbers ...int) []int64 {
	t.Helper()
	var ids []string
	for _, n := range numbers {
		ids = append(ids, said(n, "").ID)
	}
	seqs, err := PrivacyOf(c).Delete(ctx, ids)
	if err != nil {
		t.Errorf("deletion of messages %v: %v", numbers, err)
	}
	return seqs
}

// begin starts a row of the given kind and maker over [from, to].
func begin(t testing.TB, c *Conversation, kind transcript.Kind, by transcript.By, from, to int64, children ...int64) summarize.Job {
	t.Helper()
	j := check.Must(MemoriesOf(c).Records().Begin(ctx, transcript.Summary{
		Kind: kind, By: by, Trigger: transcript.OnBackground, Span: transcript.Span{From: from, To: to},
		FromTime: day, ToTime: day, Messages: int(to - from + 1), Children: children,
	}))(t)
	return j
}

// storeSummary starts a row and stores its summary.
func storeSummary(t testing.TB, c *Conversation, kind transcript.Kind, by transcript.By, from, to int64, children ...int64) int64 {
	t.Helper()
	j := begin(t, c, kind, by, from, to, children...)
	check.Must(j.Store(ctx, summarize.Summary{Text: fmt.Sprintf("%s of %d to %d", by, from, to), Tokens: 7}))(t)
	return j.ID()
}

// commit writes a decision on the state on disk.
func commit(t tester, c *Conversation, decide func(*transcript.State) (transcript.Change, error)) (head transcript.Head) {
	t.Helper()
	s := stateOf(t, c)
	change, err := decide(s)
	if err == nil {
		head, err = c.Compactions().Commit(ctx, s, change)
	}
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// stateOf returns the state for decisions, including the running rows, which a start of the bot
// ends.
func stateOf(t tester, c *Conversation) *transcript.State {
	t.Helper()
	loaded := peek(t, c)
	err := c.store.view(ctx, func(tx *transaction) error {
		running, err := c.compactions(tx, "AND state = 'running' ORDER BY id")
		loaded.Prepared = append(loaded.Prepared, running...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return loaded.State()
}

// applyRows applies prepared rows, and returns the resulting head and rows.
func applyRows(t tester, c *Conversation, rows ...int64) (transcript.Head, []transcript.Summary) {
	t.Helper()
	return applyAndClear(t, c, 0, rows...)
}

func applyAndClear(t tester, c *Conversation, clearTo int64, rows ...int64) (head transcript.Head, now []transcript.Summary) {
	t.Helper()
	head = commit(t, c, func(s *transcript.State) (transcript.Change, error) {
		behind, err := c.Compactions().Stretches(ctx, s.CoverNeeds(rows))
		change, _, _ := s.Cover(rows, clearTo, behind)
		return change, err
	})
	err := c.store.view(ctx, func(tx *transaction) (err error) {
		now, err = c.withIDs(tx, rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return head, now
}

// hide puts a placeholder over [from, to], as an emergency does.
func hide(t tester, c *Conversation, from, to int64) transcript.Head {
	t.Helper()
	return commit(t, c, func(s *transcript.State) (transcript.Change, error) {
		row := transcript.Summary{Trigger: transcript.OnEmergency, Span: transcript.Span{From: from, To: to}}
		return s.Truncate([]transcript.Summary{row}, 0), nil
	})
}

// shape formats a stack as "leaf worker 1-5, placeholder emergency 6-9".
func shape(stack []transcript.Summary) string {
	var parts []string
	for _, row := range stack {
		parts = append(parts, fmt.Sprintf("%s %s %d-%d", row.Kind, row.By, row.From, row.To))
	}
	return strings.Join(parts, ", ")
}

func seqs(messages []chat.Message) []int64 {
	var list []int64
	for _, m := range messages {
		list = append(list, m.Seq)
	}
	return list
}

func run(t testing.TB, s *Store, query string, args ...any) {
	t.Helper()
	check.Must(s.write.Exec(query, args...))(t)
}

func number(t testing.TB, s *Store, query string, args ...any) (n int) {
	t.Helper()
	check.NoError(t, s.read.QueryRow(query, args...).Scan(&n))
	return n
}

// call runs the tool with a name.
func call(tools []llm.Tool, name, arguments string) (string, error) {
	for _, tool := range tools {
		if tool.Name == name {
			return tool.Run(ctx, json.RawMessage(arguments))
		}
	}
	return "", fmt.Errorf("no tool %s", name)
}

// dump returns everything the database holds, to compare two states of it.
func dump(t testing.TB, s *Store) string {
	t.Helper()
	var out bytes.Buffer
	for _, table := range []string{"conversations", "inbox", "messages", "compactions", "memories", "memory_sources", "message_terms", "memory_terms", "outbox", "files", "gone", "pauses", "overrides", "pins", "sessions", "wanted_sessions", "inherited", "members"} {
		rows := check.Must(s.read.Query("SELECT * FROM " + table))(t)
		columns := check.Must(rows.Columns())(t)
		for rows.Next() {
			values := make([]sql.NullString, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			check.NoError(t, rows.Scan(into...))
			fmt.Fprintln(&out, table, values)
		}
		check.NoError(t, rows.Err())
		rows.Close()
	}
	return out.String()
}

// allNames returns the names of all conversations, in the order they started.
func allNames(s *Store) ([]string, error) {
	return s.names(ctx, "SELECT name FROM conversations ORDER BY id")
}
