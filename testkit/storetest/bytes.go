// Checks of what the database contains.

package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
)

// onFile calls do with a connection of its own to a store's database: the store offers no SQL.
func onFile(t check.Tester, s *store.Store, do func(*sql.DB) error) error {
	t.Helper()
	if db, ok := database(t, s); ok {
		return errors.Join(do(db), db.Close())
	}
	file := url.URL{Scheme: "file", Path: s.Upkeep().Place(), RawQuery: "mode=rw&_busy_timeout=5000&_foreign_keys=on&_secure_delete=on"}
	db, err := sql.Open("sqlite3", file.String())
	check.NoError(t, err)
	return errors.Join(do(db), db.Close())
}

// TryRun runs a statement on the database of a store.
func TryRun(t check.Tester, s *store.Store, query string, args ...any) error {
	t.Helper()
	return onFile(t, s, func(db *sql.DB) error {
		_, err := db.ExecContext(Ctx, query, args...)
		return err
	})
}

func Run(t check.Tester, s *store.Store, query string, args ...any) {
	t.Helper()
	check.NoError(t, TryRun(t, s, query, args...))
}

func Number(t check.Tester, s *store.Store, query string, args ...any) (n int) {
	t.Helper()
	check.NoError(t, onFile(t, s, func(db *sql.DB) error { return db.QueryRowContext(Ctx, query, args...).Scan(&n) }))
	return n
}

// Column returns the one column of the rows of a query.
func Column[T any](t check.Tester, s *store.Store, query string, args ...any) (all []T) {
	t.Helper()
	check.NoError(t, onFile(t, s, func(db *sql.DB) error {
		rows, err := db.QueryContext(Ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var value T
			err = errors.Join(err, rows.Scan(&value))
			all = append(all, value)
		}
		return errors.Join(err, rows.Err())
	}))
	return all
}

// Rows returns the rows of a query, with their columns joined by "|".
func Rows(t check.Tester, s *store.Store, query string, args ...any) (found []string) {
	t.Helper()
	check.NoError(t, onFile(t, s, func(db *sql.DB) (err error) {
		found, err = rowsOf(db, query, args...)
		return err
	}))
	return found
}

func rowsOf(db *sql.DB, query string, args ...any) (found []string, err error) {
	rows, err := db.QueryContext(Ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		columns, err := rows.Columns()
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = errors.Join(err, rows.Scan(into...))
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			columns[i] = map[bool]string{true: v.String, false: "NULL"}[v.Valid]
		}
		found = append(found, strings.Join(columns, "|"))
	}
	return found, rows.Err()
}

// Dump returns the rows of the tables that store a conversation: its messages, deliveries,
// summaries, memories and settings, to compare two states of a database. It leaves out usage, tasks,
// quotes, opt-outs, pending erasures, and what is known about models.
func Dump(t testing.TB, s *store.Store) string {
	t.Helper()
	var out strings.Builder
	check.NoError(t, onFile(t, s, func(db *sql.DB) error {
		for _, table := range []string{"conversations", "inbox", "messages", "compactions", "memories", "memory_sources", "message_terms", "memory_terms", "outbox", "files", "gone", "pauses", "overrides", "pins", "sessions", "wanted_sessions", "inherited", "members"} {
			rows, err := rowsOf(db, "SELECT * FROM "+table)
			if err != nil {
				return err
			}
			for _, row := range rows {
				fmt.Fprintln(&out, table, row)
			}
		}
		return nil
	}))
	return out.String()
}

// WantNoSecret fails if a row of Dump contains the secret.
func WantNoSecret(t *testing.T, c *store.Conversation) {
	t.Helper()
	for line := range strings.Lines(Dump(t, c.Store())) {
		if strings.Contains(strings.ToLower(line), Secret) {
			t.Errorf("left is %s", line)
		}
	}
}

// Version returns the conversation's version as stored.
func Version(t *testing.T, c *store.Conversation) int64 {
	t.Helper()
	head, err := c.Compactions().Head(Ctx)
	check.NoError(t, err)
	return head.Version
}

func WantNoBytes(t *testing.T, dir string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		check.Len(t, "files with "+text, FilesWith(t, dir, text), 0)
	}
}

// Secret is in the text to be deleted, and nowhere else.
const Secret = "xylophone"

// FilesWith returns the files of a folder that contain a text, in any case. A separate process reads them: closing one here would
// release SQLite's locks.
func FilesWith(t *testing.T, dir, text string) []string {
	t.Helper()
	out, err := exec.Command("grep", "-rlaiF", text, dir).CombinedOutput()
	check.Require(t, err == nil || len(out) == 0, "%s", out) // grep fails if there are none
	return strings.Fields(string(out))
}

// WantPlan checks that SQLite runs a query by an index, and does not read all compactions of a state.
func WantPlan(t testing.TB, s *store.Store, query, by string, arguments ...any) {
	t.Helper()
	is := strings.Join(Rows(t, s, "EXPLAIN QUERY PLAN "+query, arguments...), "; ")
	if !strings.Contains(is, by) || strings.Contains(is, "compactions_state") {
		t.Errorf("%s\nis done by %s", query, is)
	}
}
