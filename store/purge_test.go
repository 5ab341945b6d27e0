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
	var tables []string
	for table, columns := range storetest.Columns(t, newTalk(t).Store()) {
		if slices.Contains(columns, "conversation") {
			tables = append(tables, table)
		}
	}
	slices.Sort(tables)
	known := slices.Concat(store.Purged, []string{"events", "gone", "inherited", "made_calls", "messages", "requests", "usage"}) // kept are numbers, and what is for the owner
	slices.Sort(known)
	check.EqualAll(t, "tables with rows of one conversation", known, tables)
}
