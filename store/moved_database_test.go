package store_test

import (
	"errors"
	"os"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// TestMissingDatabaseRefusesWrites: writes to an unlinked file are lost when the bot stops.
func TestMissingDatabaseRefusesWrites(t *testing.T) {
	for claim, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced by another": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("SQLite format 3\x00"), 0o600))
		},
		"in a folder that is gone": func(path string) error { return os.RemoveAll(path[:len(path)-len("/"+store.DatabaseName)]) },
	} {
		t.Run(claim, func(t *testing.T) {
			s := storetest.OpenStore(t, t.TempDir())
			c := storetest.Find(t, s, "terminal:general")
			storetest.DeliverOnly(t, c, storetest.Said(1, "before"))
			check.NoError(t, s.Upkeep().Writable(ctx))
			check.NoError(t, replace(s.Path()))
			check.Error(t, s.Upkeep().Writable(ctx), store.ErrReplaced)
			if r, err := c.Inbox().Deliver(ctx, storetest.Said(2, "after")); !errors.Is(err, store.ErrReplaced) {
				t.Errorf("got an accepted message: %+v, %v", r, err)
			}
			check.Error(t, check.ErrorOf(s.Conversation(ctx, "terminal:new")), store.ErrReplaced)
		})
	}
	t.Run("the bot continues when the database is back", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, s, "terminal:general")
		check.NoError(t, os.Rename(s.Path(), s.Path()+".away"))
		if _, err := c.Inbox().Deliver(ctx, storetest.Said(1, "hello")); !errors.Is(err, store.ErrReplaced) {
			t.Fatalf("got %v", err)
		}
		check.NoError(t, os.Rename(s.Path()+".away", s.Path()))
		check.Equal(t, "dequeued", len(storetest.Deliver(t, c, storetest.Said(1, "hello"))), 1)
	})
}
