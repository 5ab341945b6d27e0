package store_test

import (
	"errors"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
	"cairn/store"
)

func TestUpgradeFillsMemorySubjects(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	db := store.OpenFile(store.File(dir), store.WriterPragmas)
	_, err := db.Exec("UPDATE messages SET native = ''") // else the upgrade deletes that
	check.NoError(t, errors.Join(err, db.Close()))
	s := storetest.OpenStore(t, dir)
	check.Equal(t, "rows name who said it", storetest.Number(t, s, "SELECT count(*) FROM memory_people WHERE memory = 1 AND author_id = 'u1' AND role = 'said'"), 1)
	check.Equal(t, "rows", storetest.Number(t, s, "SELECT count(*) FROM memory_people"), 1)
	check.Equal(t, "a file from which nothing was deleted is scrubbed", storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
	check.Equal(t, "the result", check.Must(privacy.Of(storetest.Find(t, s, "terminal:general")).Traces(ctx, "u1"))(t), (privacy.Traces{Conversations: 1, Messages: 2, Memories: 1}))
}
