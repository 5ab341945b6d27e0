package store_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// addMemories writes n memories in a state, without sources.
func addMemories(t testing.TB, c *store.Conversation, state string, n int) {
	t.Helper()
	check.NoError(t, c.Store().Update(ctx, func(tx *store.Tx) error {
		for i := range n {
			content := fmt.Sprint(state, " memory ", i)
			if _, err := tx.Exec(`INSERT INTO memories (conversation, kind, content, folded, importance, speaker, about, said_at, saved_at, state)
				VALUES (?, 'fact', ?, ?, 0.5, 'Ada', '', 1, 1, ?)`, c.ID(), content, content, state); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestVitals(t *testing.T) {
	c := storetest.NewConversation(t)
	v := check.Must(c.Store().Upkeep().Vitals(ctx))(t)
	if v.Inbox != 0 || v.Outbox != 0 || !v.InboxOldest.IsZero() || !v.OutboxOldest.IsZero() || v.Memories["active"] != 0 || len(v.Memories) != 4 {
		t.Errorf("of an empty store: %+v", v)
	}
	before := time.Now().Add(-time.Millisecond)
	storetest.DeliverOnly(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"))
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b", "c"}}))
	check.NoError(t, c.Outbox().Sending(ctx, 1))
	check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
	addMemories(t, c, "active", 3)
	addMemories(t, c, "forgotten", 1)
	v = check.Must(c.Store().Upkeep().Vitals(ctx))(t)
	if v.Inbox != 2 || v.Outbox != 2 || v.Memories["active"] != 3 || v.Memories["forgotten"] != 1 || v.Memories["superseded"] != 0 {
		t.Errorf("got %+v", v)
	}
	for name, oldest := range map[string]time.Time{"inbox": v.InboxOldest, "outbox": v.OutboxOldest} {
		check.That(t, !oldest.Before(before) && !oldest.After(time.Now()), "oldest of the %s: got %v", name, oldest)
	}
	file := check.Must(os.Stat(c.Store().Path()))(t)
	if v.Bytes != file.Size() || v.LogBytes == 0 || v.Free <= 0 {
		t.Errorf("the file has %d bytes; got %+v", file.Size(), v)
	}
	check.NoError(t, c.Store().Close())
	if _, err := c.Store().Upkeep().Vitals(ctx); err == nil {
		t.Error("vitals of a closed store")
	}
}
