package store_test

import (
	"testing"

	"cairn/store"
	"cairn/testkit/storetest"
)

// The queries of each compaction do not get slower as compactions accumulate.
func TestOldConversationsSaveAsFast(t *testing.T) {
	storetest.SQLiteOnly(t, "these plans")
	s := storetest.NewConversation(t).Store()
	storetest.WantPlan(t, s, store.WasRead, "compactions_to (", 1, 2, 3, 4, 5)
	storetest.WantPlan(t, s, store.Retire, "INTEGER PRIMARY KEY", 1, 2, 3)
	for _, by := range []string{"memories_fact (conversation=? AND folded=?)", "memories_newest (conversation=? AND state=? AND said_at=?"} {
		storetest.WantPlan(t, s, store.IsHere, by, 1, "words", 3, "active", 5) // of each memory that is imported
	}
}
