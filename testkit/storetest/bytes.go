// Checks of what the database contains.

package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
)

func Run(t testing.TB, s *store.Store, query string, args ...any) {
	t.Helper()
	check.NoError(t, s.Update(Ctx, func(tx *store.Tx) { tx.Do(query, args...) }))
}

func Number(t testing.TB, s *store.Store, query string, args ...any) (n int) {
	t.Helper()
	check.NoError(t, s.View(Ctx, func(tx *store.Tx) { tx.Row(query, args...).Scan(&n) }))
	return n
}

// Rows returns the rows of a query, with their columns joined by "|".
func Rows(t check.Tester, s *store.Store, query string, args ...any) (found []string) {
	t.Helper()
	check.NoError(t, s.View(Ctx, func(tx *store.Tx) {
		store.Each(tx, func(rows *sql.Rows) error {
			columns, err := rows.Columns()
			values := make([]sql.NullString, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			err = errors.Join(err, rows.Scan(into...))
			for i, v := range values {
				columns[i] = map[bool]string{true: v.String, false: "NULL"}[v.Valid]
			}
			found = append(found, strings.Join(columns, "|"))
			return err
		}, query, args...)
	}))
	return found
}

// Dump returns the rows of the tables that store a conversation: its messages, deliveries,
// summaries, memories and settings, to compare two states of a database. It leaves out usage, tasks,
// quotes, opt-outs, pending erasures, and what is known about models.
func Dump(t testing.TB, s *store.Store) string {
	t.Helper()
	var out strings.Builder
	for _, table := range []string{"conversations", "inbox", "messages", "compactions", "memories", "memory_sources", "message_terms", "memory_terms", "outbox", "files", "gone", "pauses", "overrides", "pins", "sessions", "wanted_sessions", "inherited", "members"} {
		for _, row := range Rows(t, s, "SELECT * FROM "+table) {
			fmt.Fprintln(&out, table, row)
		}
	}
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
