package memory

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/transcript"
)

// Main runs the tests of a package: in UTC, and with fewer steps in a property test, each of which
// waits for the disk; -rapid.checks can request more.
func Main(m *testing.M) {
	time.Local = time.UTC // the program's default: what is rendered must not depend on the machine
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
	s.Held().Watch(PrivacyIn(s).Apply)
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

func applyAndClear(t tester, c *Conversation, clearTo int64, rows ...int64) (transcript.Head, []transcript.Summary) {
	t.Helper()
	head := commit(t, c, func(s *transcript.State) (transcript.Change, error) {
		behind, err := c.Compactions().Stretches(ctx, s.CoverNeeds(rows))
		change, _, _ := s.Cover(rows, clearTo, behind)
		return change, err
	})
	now, err := c.Compactions().Rows(ctx, rows)
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
	check.NoError(t, s.update(ctx, func(tx *transaction) error {
		_, err := tx.Exec(query, args...)
		return err
	}))
}

func number(t testing.TB, s *Store, query string, args ...any) (n int) {
	t.Helper()
	check.NoError(t, s.view(ctx, func(tx *transaction) error { return tx.QueryRow(query, args...).Scan(&n) }))
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
	check.NoError(t, s.view(ctx, func(tx *transaction) error {
		for _, table := range []string{"conversations", "inbox", "messages", "compactions", "memories", "memory_sources", "message_terms", "memory_terms", "outbox", "files", "gone", "pauses", "overrides", "pins", "sessions", "wanted_sessions", "inherited", "members"} {
			err := each(tx, func(rows *sql.Rows) error {
				columns, err := rows.Columns()
				if err != nil {
					return err
				}
				values := make([]sql.NullString, len(columns))
				into := make([]any, len(columns))
				for i := range values {
					into[i] = &values[i]
				}
				err = rows.Scan(into...)
				fmt.Fprintln(&out, table, values)
				return err
			}, "SELECT * FROM "+table)
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return out.String()
}

// allNames returns the names of all conversations, in the order they started.
func allNames(s *Store) ([]string, error) {
	names, err := s.Known(ctx)
	slices.Reverse(names)
	return names, err
}

// answerWith finishes turn with an assistant's calls, the results of tools, and a reply.
func answerWith(t *testing.T, c *Conversation, turn, next int64, native string, results map[string]string) {
	t.Helper()
	var calls []llm.Call
	var rows []chat.Message
	for _, tool := range []string{"recall", "expand", "memory_search", "memory_save", "weather"} {
		if text, ok := results[tool]; ok {
			calls = append(calls, llm.Call{ID: tool, Name: tool, Arguments: `{"query":"` + text + `"}`})
			rows = append(rows, chat.Message{Role: llm.RoleTool, CallID: tool, Tool: tool, Text: text, Time: day})
		}
	}
	rows = append([]chat.Message{{Role: llm.RoleAssistant, Calls: calls, Native: json.RawMessage(native), Time: day}}, rows...)
	rows = append(rows, chat.Message{Role: llm.RoleAssistant, ID: fmt.Sprint("reply-", turn), Text: "so it is", Time: day})
	for i := range rows {
		rows[i].Seq, rows[i].Turn = next+int64(i), turn
		rows[i].Tokens = chat.TokensOf(rows[i])
	}
	check.NoError(t, c.Turns().Finish(ctx, Outcome{Turn: turn, Messages: rows}))
}

func asking(n int, text string) Inbound {
	m := said(n, text)
	m.Addressed = true
	return m
}

// wantNoSecret fails if a row of any table still holds it.
func wantNoSecret(t *testing.T, c *Conversation) {
	t.Helper()
	for line := range strings.Lines(dump(t, c.store)) {
		if strings.Contains(strings.ToLower(line), secret) {
			t.Errorf("left is %s", line)
		}
	}
}

// recalled are the messages in which a word of the query stands.
func recalled(t *testing.T, c *Conversation, query string) []int64 {
	t.Helper()
	found := check.Must(MemoriesOf(c).Recall(ctx, Question{Text: query, Limit: 10, Before: maxSeq}))(t)
	var list []int64
	for _, f := range found {
		if f.Parts[0].Name == "words" {
			list = append(list, f.Seq)
		}
	}
	return list
}

// version is that of the conversation as stored.
func version(t *testing.T, c *Conversation) int64 {
	t.Helper()
	head, _, err := c.Compactions().Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return head.Version
}

func deliverOnly(t *testing.T, c *Conversation, messages ...Inbound) {
	t.Helper()
	for _, m := range messages {
		check.Must(c.Inbox().Deliver(ctx, m))(t)
	}
}

// contents lists the active memories, the newest row last, as "kind: content".
func contents(t *testing.T, c *Conversation) []string {
	t.Helper()
	found, _, err := MemoriesIn(c.store).List(ctx, Filter{Conversation: c.Name()})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(found, func(a, b Memory) int { return int(a.ID - b.ID) })
	var list []string
	for _, m := range found {
		list = append(list, m.Kind+": "+m.Content)
	}
	return list
}

// repair lets a worker or the extractive summarizer summarize [from, to] and save one memory of message seq.
func repair(t *testing.T, c *Conversation, by transcript.By, from, to int64, content string, seq int64) {
	t.Helper()
	j := begin(t, c, transcript.Leaf, by, from, to)
	summary := summarize.Summary{Text: "summary", Tokens: 2}
	d := summarize.MemoryDraft{Kind: "fact", Content: content, Messages: []int64{seq}}
	if by == transcript.Extractive {
		summary.Memories = []summarize.MemoryDraft{d}
	} else if _, err := call(j.Tools(20), "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, content, seq)); err != nil {
		t.Fatal(err)
	}
	check.Must(j.Store(ctx, summary))(t)
	applyRows(t, c, j.ID())
}

// finish answers a turn with one message of the bot.
func finish(t *testing.T, c *Conversation, turn, seq int64, reply string, pieces ...string) {
	t.Helper()
	check.NoError(t, c.Turns().Finish(ctx, Outcome{
		Turn: turn, Reply: reply, Pieces: pieces,
		Messages: []chat.Message{{Seq: seq, Turn: turn, Role: llm.RoleAssistant, ID: reply, Text: "the answer", Time: day}},
	}))
}

// part returns what a part adds to the score of a found message.
func part(f Found, name string) float64 {
	for _, p := range f.Parts {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// keep saves a fact, from messages if any are named.
func keep(t *testing.T, c *Conversation, person, content string, messages ...int64) Saved {
	t.Helper()
	s := check.Must(MemoriesOf(c).Keep(ctx, KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: content, Messages: messages}, Person: person, PersonID: people[person]}))(t)
	return s
}

func wantNoBytes(t *testing.T, dir string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if found := countBytes(t, dir, text); len(found) > 0 {
			t.Errorf("%q is in %v", text, found)
		}
	}
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// secret stands in what is to be deleted, and nowhere else.
const secret = "xylophone"

// people are the IDs of the authors in said.
var people = map[string]string{"Ann": "0", "Bob": "1"}
