// Package storetest fills stores, for the tests of store, memory and privacy: with messages of Ann
// and Bob, summaries and memories.
package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// Main runs the tests of a package: in UTC, with files in memory, and with fewer steps in a property test, each of which
// waits for the disk; -rapid.checks can request more.
func Main(m *testing.M) {
	time.Local = time.UTC // the program's default: rendering must not depend on the machine
	if flag.Lookup("rapid.checks") != nil {
		_ = flag.Set("rapid.checks", "20")
	}
	check.InMemory()
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

var Ctx = context.Background()

var Day = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// emptyStore is the file of a store without conversations. It is made once: creating the tables takes
// three times as long as opening a copy.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(Ctx, store.Options{Dir: dir})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(store.File(dir))
})

// CopyEmpty puts a store without conversations into a folder that has none.
func CopyEmpty(t check.Tester, dir string) {
	t.Helper()
	file := store.File(dir)
	if _, err := os.Stat(file); err == nil {
		return
	}
	text := check.Must(emptyStore())(t)
	check.NoError(t, os.MkdirAll(dir, 0o700))
	check.NoError(t, os.WriteFile(file, text, 0o600))
}

// OpenStore opens the store of a folder; if there is none, a copy of one without conversations.
func OpenStore(t testing.TB, dir string) *store.Store {
	t.Helper()
	if OnPostgres {
		pgtest.Shared(t) // or else the test is skipped
	}
	s := Open(t, dir)
	t.Cleanup(func() { s.Close() })
	return s
}

// Open is OpenStore for a test that closes the store itself.
func Open(t check.Tester, dir string) *store.Store {
	t.Helper()
	if OnPostgres {
		return openOnPostgres(t, dir)
	}
	CopyEmpty(t, dir)
	return check.Must(store.Open(Ctx, store.Options{Dir: dir}))(t)
}

func NewConversation(t testing.TB) *store.Conversation {
	t.Helper()
	return Find(t, OpenStore(t, t.TempDir()), "terminal:general")
}

func Find(t testing.TB, s *store.Store, name string) *store.Conversation {
	t.Helper()
	return check.Must(s.Conversation(Ctx, name))(t)
}

// Said returns message number n of a conversation, alternately by Ann and Bob.
func Said(n int, text string) store.Inbound {
	return store.Inbound{
		ID: fmt.Sprintf("m%d", n), AuthorID: fmt.Sprint(n % 2), Author: []string{"Ann", "Bob"}[n%2],
		Text: text, Time: Day.Add(time.Duration(n) * time.Minute),
	}
}

// Within returns a message as one of a place that these people can read.
func Within(audience store.Audience, m store.Inbound) store.Inbound {
	m.Audience = audience
	return m
}

// Quoting returns message number n, which replies to another one and quotes it.
func Quoting(n int, text, to, quote string) store.Inbound {
	m := Said(n, text)
	m.ReplyTo = to
	m.Quote = quote
	return m
}

// Attested is a quote with the words of the tests' memories: a model may save only what its sources say.
const Attested = "Ann, Bob: tea, cats, boats, nuts, allergy, swims, rows, bicycles, music, Oslo, Bergen, Turin, Xanadu, away for a reason, standup in the kitchen at 9 or 10, " +
	"moves, lives, tall, sky, token, first, second, third, rough, fine, one, two, bought, spoke, parrots, machine, x"

// Imported fills a new conversation with n messages, each a turn of its own. They quote Attested.
func Imported(t testing.TB, n int) *store.Conversation {
	t.Helper()
	c := NewConversation(t)
	past := make([]store.Inbound, n)
	for i := range past {
		past[i] = Said(i+1, fmt.Sprintf("message number %d", i+1))
		past[i].Quote = Attested
	}
	check.Must(c.Past().Import(Ctx, past))(t)
	return c
}

// Deliver puts messages into the inbox and dequeues them.
func Deliver(t testing.TB, c *store.Conversation, messages ...store.Inbound) []chat.Message {
	t.Helper()
	DeliverOnly(t, c, messages...)
	return check.Must(c.Inbox().Dequeue(Ctx, store.All, 1<<30, time.Time{}))(t)
}

// Edit changes the text of message number n, as Said numbers them, a day later.
func Edit(t check.Tester, c *store.Conversation, n int, text string) (seq int64) {
	t.Helper()
	m := Said(n, text)
	m.Time = m.Time.AddDate(0, 0, 1)
	seq, changed, err := privacy.Of(c).Edit(Ctx, m)
	check.That(t, err == nil && changed, "edit of message %d: changed %v, %v", n, changed, err)
	return seq
}

// Remove deletes messages, as Said numbers them. It returns the messages that changed, see Changed.
func Remove(t check.Tester, c *store.Conversation, numbers ...int) []int64 {
	t.Helper()
	return Changed(t, c, func() {
		err := privacy.Of(c).Delete(Ctx, Map(numbers, func(n int) string { return Said(n, "").ID }))
		check.That(t, err == nil, "deletion of messages %v: %v", numbers, err)
	})
}

// Changed returns the seqs of the messages that do deletes or changes, other than by a context.
func Changed(t check.Tester, c *store.Conversation, do func()) (seqs []int64) {
	t.Helper()
	before := check.Must(c.Transcript().Page(Ctx, 1, store.MaxSeq))(t)
	do()
	after := check.Must(c.Transcript().Page(Ctx, 1, store.MaxSeq))(t)
	for _, m := range before {
		same := func(now chat.Message) bool {
			now.Context = m.Context
			return now.Seq == m.Seq && reflect.DeepEqual(now, m)
		}
		if !slices.ContainsFunc(after, same) {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}

// Map returns what a function makes of each element.
func Map[T, R any](list []T, of func(T) R) (all []R) {
	for _, one := range list {
		all = append(all, of(one))
	}
	return all
}

func Seqs(messages []chat.Message) []int64 {
	return Map(messages, func(m chat.Message) int64 { return m.Seq })
}

// Message returns a message as stored.
func Message(t testing.TB, c *store.Conversation, seq int64) chat.Message {
	t.Helper()
	return check.Must(c.Transcript().Message(Ctx, seq))(t)
}

// Answer is where an answer goes, and what its first message has besides calls.
type Answer struct {
	Turn   int64
	First  int64  // seq of its first message
	Native string // JSON; empty: none
}

// AnswerWith finishes a turn with an assistant's calls, the results of tools, and a reply, which results may name.
func AnswerWith(t *testing.T, c *store.Conversation, a Answer, results map[string]llm.Result) {
	t.Helper()
	var calls []llm.Call
	var rows []chat.Message
	for _, tool := range []string{"recall", "expand", "memory_search", "memory_save", "weather"} {
		if r, ok := results[tool]; ok {
			calls = append(calls, llm.Call{ID: tool, Name: tool, Arguments: `{"query":"` + r.Text + `"}`})
			rows = append(rows, chat.Message{Role: llm.RoleTool, CallID: tool, Tool: tool, Text: r.Text, Quotes: r.Quotes, Time: Day})
		}
	}
	rows = append([]chat.Message{{Role: llm.RoleAssistant, Calls: calls, Native: json.RawMessage(a.Native), Time: Day}}, rows...)
	reply := results["reply"].Text
	rows = append(rows, chat.Message{Role: llm.RoleAssistant, ID: fmt.Sprint("reply-", a.Turn), Text: cmp.Or(reply, "so it is"), Time: Day})
	for i := range rows {
		rows[i].Seq = a.First + int64(i)
		rows[i].Turn = a.Turn
		rows[i].Tokens = chat.TokensOf(rows[i])
	}
	o := store.Outcome{Turn: a.Turn, Messages: rows}
	if reply != "" {
		o.Reply = rows[len(rows)-1].ID
		o.Pieces = []string{reply}
	}
	check.Must(c.Turns().Finish(Ctx, o))(t)
}

func Asking(n int, text string) store.Inbound {
	m := Said(n, text)
	m.Addressed = true
	return m
}

func DeliverOnly(t testing.TB, c *store.Conversation, messages ...store.Inbound) {
	t.Helper()
	for _, m := range messages {
		check.Must(c.Inbox().Deliver(Ctx, m))(t)
	}
}

// Finish answers a turn with one message of the bot.
func Finish(t *testing.T, c *store.Conversation, turn int64, reply string, pieces ...string) {
	t.Helper()
	check.Must(c.Turns().Finish(Ctx, store.Outcome{
		Turn: turn, Reply: reply, Pieces: pieces,
		Messages: []chat.Message{{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, ID: reply, Text: "the answer", Time: Day}},
	}))(t)
}
