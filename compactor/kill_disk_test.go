package compactor_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/memory"
	"cairn/store"
)

// diskState returns what is on disk: the view and the messages.
func (a act) diskState(t *testing.T, data *store.Store) string {
	ctx := context.Background()
	conv := check.Must(data.Find(ctx, cmp.Or(a.name, testConversation)))(t)
	p := compactor.DefaultPolicy()
	p.PrepareThreshold = 0
	if a.tune != nil {
		a.tune(&p)
	}
	c := openOwner(t, compactor.Options{
		Records: readOnlyRecords{memory.Of(conv).Records()}, Policy: func() compactor.Policy { return p }, Window: func() int { return spacious },
		System: "You are a test.", Log: slog.New(slog.DiscardHandler),
	})
	defer c.Close()
	messages, _, err := c.Request(ctx)
	check.NoError(t, err)
	page := check.Must(conv.Transcript().Page(ctx, 1, 1<<20))(t)
	var b strings.Builder
	b.WriteString(inLines(messages))
	for _, m := range page {
		fmt.Fprintf(&b, "%d|%d|%s|%s\n", m.Seq, m.Turn, m.Role, m.Text)
	}
	return b.String()
}

// sound checks the file itself.
func sound(t *testing.T, data *store.Store) {
	t.Helper()
	found, err := data.Upkeep().Check(context.Background())
	check.Require(t, err == nil && len(found) == 0, "the file: %v, %v", found, err)
	for what, query := range map[string]string{
		"memories of unfinished work":                 "SELECT c.id FROM memories m JOIN compactions c ON c.id = m.compaction WHERE c.ended_at IS NULL OR c.state = 'failed'",
		"memories that are there twice":               "SELECT min(id) FROM memories GROUP BY content HAVING count(*) > 1",
		"rows without their text, or which still run": "SELECT id FROM compactions WHERE state = 'prepared' AND text = '' OR state = 'running'",
	} {
		check.Len(t, what, column[int](t, data, query), 0)
	}
}

// openToLook opens a store as a command does beside the bot: it changes nothing. A connection
// reads the whole schema first, so a kill has one for all that is looked at.
func openToLook(t testing.TB, dir string) *store.Store {
	t.Helper()
	return check.Must(store.Open(context.Background(), store.Options{Dir: dir, Shared: true}))(t)
}

func raw(t *testing.T, dir string) *sql.DB {
	db, err := sql.Open("sqlite3", filepath.Join(dir, "cairn.db"))
	check.NoError(t, err)
	return db
}

func count(t *testing.T, dir, query string) (n int) {
	db := raw(t, dir)
	defer db.Close()
	check.NoError(t, db.QueryRow(query).Scan(&n))
	return n
}

// column returns the one column of the rows of a query.
func column[T any](t *testing.T, data *store.Store, query string) (all []T) {
	t.Helper()
	check.NoError(t, data.View(context.Background(), func(tx *store.Tx) (err error) {
		all, err = store.Column[T](tx, query)
		return err
	}))
	return all
}

// remembered returns the memories on disk, in no particular order.
func remembered(t *testing.T, data *store.Store) []string {
	return column[string](t, data, "SELECT content || ', ' || state FROM memories ORDER BY 1")
}
