package store_test

import (
	"slices"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// Who adds a table must decide what a purge does with it.
func TestPurgeKnowsEveryTable(t *testing.T) {
	tables := storetest.Rows(t, newTalk(t).Store(), `SELECT s.name FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) i
		WHERE s.type = 'table' AND i.name = 'conversation' ORDER BY 1`)
	known := slices.Concat(store.Purged, []string{"gone", "inherited", "messages", "usage"}) // usage is kept: numbers
	slices.Sort(known)
	check.EqualAll(t, "tables with rows of one conversation", known, tables)
}
