package privacy_test

import (
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
	"cairn/store"
)

// Who adds a table must decide what a purge does with it.
func TestPurgeKnowsEveryTable(t *testing.T) {
	c := storetest.NewConversation(t)
	var tables []string
	check.NoError(t, c.Store().View(ctx, func(tx *store.Tx) (err error) {
		tables, err = store.Column[string](tx, `SELECT s.name FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) i
			WHERE s.type = 'table' AND i.name = 'conversation' ORDER BY 1`)
		return err
	}))
	const kept = "usage" // numbers
	known := slices.Concat(privacy.Purged, []string{"gone", "inherited", "messages", kept})
	slices.Sort(known)
	check.EqualAll(t, "tables with rows of one conversation", known, tables)
}
