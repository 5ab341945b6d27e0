// A conversation's handles, and which conversations have work to do.

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Conversation is the store as one conversation sees it. It is safe for concurrent use, as are several of one conversation.
type Conversation struct{ handle }

// handle finds a conversation's rows. Conversation and its parts, such as Inbox, have one each, and reach no other conversation's.
type handle struct {
	store *Store
	id    int64 // 1 to 2^31-1
	name  string
	epoch int64 // of the owner that has the handle, see Lease.Claim; 0: it writes as somebody else, or nobody else can
}

// MaxName limits a conversation's name, in bytes.
const MaxName = 500

// Name returns the conversation's name: connector:server/channel[/thread].
func (c *Conversation) Name() string { return c.name }

// Conversation returns the conversation with that name, and creates it if necessary.
func (s *Store) Conversation(ctx context.Context, name string) (*Conversation, error) {
	c, err := s.Find(ctx, name)
	if !errors.Is(err, ErrNotFound) {
		return c, err
	}
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) || strings.Contains(name, "\x00") {
		return nil, fmt.Errorf("%q is not a valid name of a conversation: use 1 to %d bytes of valid UTF-8 without NUL", name, MaxName)
	}
	err = s.set(ctx, "create conversation "+name, "INSERT INTO conversations (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", name, nowMillis())
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, name)
}

// Find returns the conversation with that name, or ErrNotFound.
func (s *Store) Find(ctx context.Context, name string) (*Conversation, error) {
	c := &Conversation{handle{store: s, name: name}}
	err := s.look(ctx, oneRead, func(tx *Tx) { tx.row("SELECT id FROM conversations WHERE name = ?", name).Scan(&c.id) })
	return c, Fail(fmt.Sprintf("conversation %q", name), err)
}

// Unfinished returns the names of the conversations with work to do: messages in the inbox, a session to start, a turn to
// answer, an unsent reply, or messages that a model has yet to summarize.
func (s *Store) Unfinished(ctx context.Context) ([]string, error) {
	return s.names(ctx, "SELECT name FROM conversations c WHERE "+waits+" OR "+owes+" ORDER BY id")
}

// What a conversation c has to do: waits is true while people wait for it, or a task does; owes while a model has yet to summarize.
const (
	waits = `(c.id IN (SELECT conversation FROM inbox) OR c.id IN (SELECT conversation FROM wanted_sessions)
		OR c.id IN (SELECT conversation FROM messages WHERE answered = 0) OR c.id IN (SELECT conversation FROM outbox WHERE state IN ('waiting', 'sending')))`
	owes = "c.id IN (SELECT conversation FROM compactions WHERE state = 'applied' AND (owed = 1 OR kind = 'placeholder'))"
)

// Importing returns the names of the conversations with messages of an import that their compactor has not read.
func (s *Store) Importing(ctx context.Context) ([]string, error) {
	return s.names(ctx, "SELECT name FROM conversations WHERE unread_from > 0 ORDER BY id")
}

func (s *Store) names(ctx context.Context, query string) ([]string, error) {
	names, err := selectAlone(ctx, s, scanOne[string], query)
	return names, Fail("list conversations", err)
}

// View runs do in a read transaction; an error says what was tried.
func (c handle) View(ctx context.Context, tried string, do func(*Tx)) error {
	return c.Fail(tried, c.store.View(ctx, do))
}

// Update is View for a write transaction. ErrOwned and ErrUnknown, which are also reported to Lost, mean that an owner must open the
// conversation again.
func (c handle) Update(ctx context.Context, tried string, do func(*Tx)) error {
	return c.enter(ctx, tried, outdated, do)
}

// Erase is Update for a function that deletes, see Store.Erase.
func (c handle) Erase(ctx context.Context, tried string, do func(*Tx)) error {
	return c.Update(ctx, tried, func(tx *Tx) { erase(tx, do) })
}

// enter is Update with what it means to an owner that is another process.
func (c handle) enter(ctx context.Context, tried string, tells meaning, do func(*Tx)) error {
	err := c.store.Update(ctx, func(tx *Tx) {
		c.store.engine.enter(tx, c, tells)
		do(tx)
	})
	if c.epoch != 0 && (errors.Is(err, ErrOwned) || errors.Is(err, ErrUnknown)) {
		c.store.lost(c.name, c.epoch)
	}
	return c.Fail(tried, err)
}

// Enter locks conversations in a transaction that changes several: before it reads them, so that their owners change nothing meanwhile,
// and in the same order everywhere, so that no two transactions wait for each other.
func (t *Tx) Enter(all ...*Conversation) {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *Conversation) int { return cmp.Compare(a.id, b.id) })
	for _, c := range sorted {
		t.store.engine.enter(t, c.handle, outdated)
	}
}

// Lock is Enter for one conversation, of which only what is derived from it changes.
func (t *Tx) Lock(c *Conversation) { t.store.engine.enter(t, c.handle, quiet) }

// owned reports whether nobody else works on the conversation: what is unfinished in it was left by a process that has ended.
func (c handle) owned() bool { return c.epoch != 0 || !c.store.shared && c.store.lease.Load() == nil }

// Fail wraps an error of the conversation with what was tried; nil stays nil.
func (c handle) Fail(tried string, err error) error { return Fail(tried+" of "+c.name, err) }

func (c handle) row(ctx context.Context, tried string, columns []any, query string, args ...any) error {
	return c.Fail(tried, c.store.look(ctx, oneRead, func(tx *Tx) { tx.row(query, args...).Found(columns...) }))
}

func (c handle) set(ctx context.Context, tried, query string, args ...any) error {
	return c.Update(ctx, tried, func(tx *Tx) { tx.do(query, args...) })
}

func (c handle) change(ctx context.Context, tried, query string, args ...any) error {
	return c.Update(ctx, tried, func(tx *Tx) { tx.change(query, args...) })
}

// transactor is a Conversation, or a handle.
type transactor interface {
	View(ctx context.Context, tried string, do func(*Tx)) error
	Update(ctx context.Context, tried string, do func(*Tx)) error
}

// View is Conversation.View for a function with a result.
func View[T any](ctx context.Context, c transactor, tried string, do func(*Tx) T) (T, error) {
	return resultOf(ctx, c.View, tried, do)
}

// Update is Conversation.Update for a function with a result.
func Update[T any](ctx context.Context, c transactor, tried string, do func(*Tx) T) (T, error) {
	return resultOf(ctx, c.Update, tried, do)
}

// resultOf returns the result of do, or, after an error, the zero value: the commit may fail too.
func resultOf[T any](ctx context.Context, transact func(context.Context, string, func(*Tx)) error, tried string, do func(*Tx) T) (T, error) {
	var result, none T
	if err := transact(ctx, tried, func(tx *Tx) { result = do(tx) }); err != nil {
		return none, err
	}
	return result, nil
}

// connector returns the first part of the name; for a task, of the people's conversation above it.
func (c handle) connector() string {
	root, _ := RootOf(c.name)
	connector, _, _ := strings.Cut(root, ":")
	return connector
}

// The parts of a conversation. What they do in a transaction that is open has the transaction as its first argument. One
// part reaches another one of the same conversation by a conversion: Transcript(in).
type (
	// Compactions are its summaries: what its compactor reads and writes.
	Compactions struct{ c handle }

	// Sessions are the requests for new ones.
	Sessions struct{ c handle }

	// Inbox has the delivered messages that are not in the transcript yet.
	Inbox struct{ c handle }

	// Past is for messages from before the bot joined, or while it was disconnected.
	Past struct{ c handle }

	// Transcript is its messages, with their files and pins.
	Transcript struct{ c handle }

	// Turns are the messages that wait for an answer, their answers, and the usage of these.
	Turns struct{ c handle }

	// Outbox has the replies that still have to be sent, each piece once. Its methods return ErrNotFound for a piece that was
	// already sent or dropped.
	Outbox struct{ c handle }

	// Settings are those that people have changed.
	Settings struct{ c handle }

	// Tasks are those that it has started, and the task that it is itself.
	Tasks struct{ c handle }
)

func (c *Conversation) Compactions() Compactions { return Compactions{c.handle} }
func (c *Conversation) Sessions() Sessions       { return Sessions{c.handle} }
func (c *Conversation) Inbox() Inbox             { return Inbox{c.handle} }
func (c *Conversation) Past() Past               { return Past{c.handle} }
func (c *Conversation) Transcript() Transcript   { return Transcript{c.handle} }
func (c *Conversation) Turns() Turns             { return Turns{c.handle} }
func (c *Conversation) Outbox() Outbox           { return Outbox{c.handle} }
func (c *Conversation) Settings() Settings       { return Settings{c.handle} }
func (c *Conversation) Tasks() Tasks             { return Tasks{c.handle} }
func (c *Conversation) ID() int64                { return c.id } // in the database
func (c *Conversation) Store() *Store            { return c.store }

// The handles of a store.
type (
	// Upkeep maintains the files: backups, checks, and the erasure of deleted text.
	Upkeep struct{ store *Store }

	// Pauses are the scopes in which no model may be called.
	Pauses struct{ store *Store }

	// Models has the learned facts about models.
	Models struct{ store *Store }

	// Processes are those that run the bot.
	Processes struct{ store *Store }
)

func (s *Store) Upkeep() Upkeep { return Upkeep{s} }
func (s *Store) Pauses() Pauses { return Pauses{s} }
func (s *Store) Models() Models { return Models{s} }

func (s *Store) Processes() Processes { return Processes{s} }
func LimitsOf(s *Store) Limits        { return Limits{s} }

// What packages memory and privacy read and write inside a transaction.
func (c handle) Messages(tx *Tx) Messages             { return Messages{c, tx} }
func (c handle) Summaries(tx *Tx) Summaries           { return Summaries{c, tx} }
func (c handle) Threads(tx *Tx) Threads               { return Threads{c, tx} }
func (c handle) Memories(tx *Tx) ConversationMemories { return ConversationMemories{c, tx} }
func (c handle) People(tx *Tx) People                 { return People{c, tx} }
func (c handle) CommandTexts(tx *Tx) CommandTexts     { return CommandTexts{c, tx} }
func (c handle) Traces(tx *Tx, who Person) Traces     { return Traces{c, tx, who} }
