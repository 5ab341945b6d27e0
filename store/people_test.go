package store_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
)

func TestUpgradeFillsMemorySubjects(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	runScripts(t, dir, "UPDATE messages SET native = ''; UPDATE outbox SET text = '' WHERE state = 'sent'") // otherwise the upgrade deletes it
	s := storetest.OpenStore(t, dir)
	check.Equal(t, "rows with the speaker", storetest.Number(t, s, "SELECT count(*) FROM memory_people WHERE memory = 1 AND author_id = 'u1' AND role = 'said'"), 1)
	check.Equal(t, "rows", storetest.Number(t, s, "SELECT count(*) FROM memory_people"), 1)
	check.Equal(t, "a file without deletions is rewritten", storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
	check.Equal(t, "answer", check.Must(privacy.Of(storetest.Find(t, s, "terminal:general")).Traces(ctx, "u1"))(t), (privacy.Holding{Channel: "terminal:general", Messages: 2, Memories: 1}))
}
