package store_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

var errBroken = errors.New("broken")

func insertConversation(tx *store.Tx, name string) error {
	_, err := tx.Exec("INSERT INTO conversations (name, created_at) VALUES (?, 0)", name)
	return err
}

var transactions = map[string]struct {
	do   func(tx *store.Tx, end context.CancelFunc) error
	want string // of the error; "": the transaction commits
}{
	"that ends well": {func(*store.Tx, context.CancelFunc) error { return nil }, ""},
	"that fails":     {func(*store.Tx, context.CancelFunc) error { return errBroken }, "broken"},
	"that breaks":    {func(*store.Tx, context.CancelFunc) error { panic(errBroken) }, "broken"},
	"whose statement fails": {func(tx *store.Tx, _ context.CancelFunc) error {
		_, err := tx.Exec("INSERT INTO nowhere VALUES (1)")
		return err
	}, "no such table"},
	"whose statement without result fails": {func(tx *store.Tx, _ context.CancelFunc) error {
		tx.Do("INSERT OR ROLLBACK INTO conversations (name, created_at) VALUES ('x', 0)")
		tx.Do("INSERT INTO conversations (name, created_at) VALUES ('late', 0)")
		return insertConversation(tx, "later")
	}, "UNIQUE"},
	"whose value cannot be read": {func(tx *store.Tx, _ context.CancelFunc) error {
		store.Get[int](tx, "SELECT 1 FROM nowhere")
		return nil
	}, "no such table"},
	"that is no longer wanted": {func(_ *store.Tx, end context.CancelFunc) error {
		end()
		return nil
	}, "context canceled"},
	"that is no longer wanted, and writes": {func(tx *store.Tx, end context.CancelFunc) error {
		end()
		if insertConversation(tx, "late") == nil {
			return errors.New("a statement ran")
		}
		return nil
	}, "context canceled"},
	"that is no longer wanted, and reads": {func(tx *store.Tx, end context.CancelFunc) error {
		end()
		var n int
		if err := tx.QueryRow("SELECT 1").Scan(&n); !errors.Is(err, context.Canceled) {
			return errors.New("a query ran")
		}
		return store.Each(tx, func(*sql.Rows) error { return nil }, "SELECT 1")
	}, "context canceled"},
	"that SQLite will not commit": {func(tx *store.Tx, _ context.CancelFunc) error {
		if _, err := tx.Exec("PRAGMA defer_foreign_keys = ON"); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO wanted_sessions (conversation, after, wanted_at) VALUES (99, 0, 0)")
		return err
	}, "FOREIGN KEY"},
	"that SQLite has taken back itself": {func(tx *store.Tx, _ context.CancelFunc) error {
		_, err := tx.Exec("INSERT OR ROLLBACK INTO conversations (name, created_at) VALUES ('x', 0)")
		return err
	}, "UNIQUE"},
	"in which a query stands open while others run": {func(tx *store.Tx, _ context.CancelFunc) error {
		return store.Each(tx, func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			return tx.QueryRow("SELECT id FROM conversations WHERE id = ?", id).Scan(&id)
		}, "SELECT id FROM conversations")
	}, ""},
}

func TestTransactionsAreAtomic(t *testing.T) {
	for name, test := range transactions {
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
				return s.Update(limited, func(tx *store.Tx) error {
					return errors.Join(insertConversation(tx, "x"), test.do(tx, end))
				})
			}()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v", err)
			}
			check.Equal(t, "rows", len(check.Must(s.Known(ctx))(t)) == 1, test.want == "")
			// The connection is as good as before.
			check.NoError(t, s.Update(ctx, func(tx *store.Tx) error { return insertConversation(tx, "y") }))
			if err := s.View(ctx, func(tx *store.Tx) error { return insertConversation(tx, "z") }); err == nil {
				t.Error("a read transaction wrote")
			}
		})
	}
}
