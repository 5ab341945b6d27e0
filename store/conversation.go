// A conversation's handle, and which conversations have work to do.

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Conversation is the store as one conversation sees it. Handles of the same conversation are
// interchangeable. It is safe for concurrent use.
type Conversation struct {
	store *Store
	id    int64 // 1 to 2^31-1
	name  string
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
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) {
		return nil, fmt.Errorf("%q cannot name a conversation: 1 to %d bytes of valid UTF-8 can", name, MaxName)
	}
	err = s.Update(ctx, func(tx *Tx) error {
		tx.Do("INSERT INTO conversations (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", name, Now())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("create conversation %s: %w", name, err)
	}
	return s.Find(ctx, name)
}

// Find returns the conversation with that name, or ErrNotFound.
func (s *Store) Find(ctx context.Context, name string) (*Conversation, error) {
	var c *Conversation
	err := s.View(ctx, func(tx *Tx) (err error) {
		c, err = tx.Conversation(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("conversation %q: %w", name, err)
	}
	return c, nil
}

// Unfinished returns the names of the conversations with work to do: messages in the inbox, a
// session to start, a turn to answer, an unsent reply, or messages that a model has yet to
// summarize.
func (s *Store) Unfinished(ctx context.Context) ([]string, error) {
	return s.names(ctx, `SELECT name FROM conversations
		WHERE id IN (SELECT conversation FROM inbox)
		OR id IN (SELECT conversation FROM wanted_sessions)
		OR id IN (SELECT conversation FROM messages INDEXED BY messages_waiting WHERE answered = 0)
		OR id IN (SELECT conversation FROM outbox INDEXED BY outbox_unsent WHERE state IN ('waiting', 'sending'))
		OR id IN (SELECT conversation FROM compactions INDEXED BY compactions_owed WHERE state = 'applied' AND (owed = 1 OR kind = 'placeholder'))
		ORDER BY id`)
}

// Known returns the names of all conversations, newest first.
func (s *Store) Known(ctx context.Context) ([]string, error) {
	return s.names(ctx, "SELECT name FROM conversations ORDER BY id DESC")
}

func (s *Store) names(ctx context.Context, query string) ([]string, error) {
	names, err := selectAlone(ctx, s, One[string], query)
	return names, Fail("list conversations", err)
}

// View runs do in a read transaction. An error says what was tried.
func (c *Conversation) View(ctx context.Context, tried string, do func(*Tx) error) error {
	return c.Fail(tried, c.store.View(ctx, do))
}

// Update runs do in a write transaction. An error says what was tried.
func (c *Conversation) Update(ctx context.Context, tried string, do func(*Tx) error) error {
	return c.Fail(tried, c.store.Update(ctx, do))
}

// Fail wraps an error of the conversation with what was tried; nil stays nil.
func (c *Conversation) Fail(tried string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %s: %w", tried, c.name, err)
}

// read is Conversation.View for a function with a result; an error of its queries is returned, see Tx.Fail.
func read[T any](ctx context.Context, c *Conversation, tried string, do func(*Tx) T) (T, error) {
	return resultOf(ctx, c.View, tried, func(tx *Tx) (T, error) { return do(tx), nil })
}

// write is read for Conversation.Update.
func write[T any](ctx context.Context, c *Conversation, tried string, do func(*Tx) T) (T, error) {
	return resultOf(ctx, c.Update, tried, func(tx *Tx) (T, error) { return do(tx), nil })
}

// View is Conversation.View for a function with a result.
func View[T any](ctx context.Context, c *Conversation, tried string, do func(*Tx) (T, error)) (T, error) {
	return resultOf(ctx, c.View, tried, do)
}

// Update is Conversation.Update for a function with a result.
func Update[T any](ctx context.Context, c *Conversation, tried string, do func(*Tx) (T, error)) (T, error) {
	return resultOf(ctx, c.Update, tried, do)
}

// resultOf returns the result of do, or, after an error, the zero value: the commit may fail too.
func resultOf[T any](ctx context.Context, transact func(context.Context, string, func(*Tx) error) error, tried string, do func(*Tx) (T, error)) (T, error) {
	var result, none T
	err := transact(ctx, tried, func(tx *Tx) (err error) {
		result, err = do(tx)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// Connector returns the first part of the conversation's name; for a task, of the people's
// conversation above it.
func (c *Conversation) Connector() string {
	root, _ := RootOf(c.name)
	connector, _, _ := strings.Cut(root, ":")
	return connector
}
