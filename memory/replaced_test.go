package memory

import (
	"errors"
	"os"
	"testing"

	"cairn/internal/check"
)

// TestADatabaseThatIsGoneTakesNothing: what is written to an unlinked file is lost when the bot
// stops.
func TestADatabaseThatIsGoneTakesNothing(t *testing.T) {
	for claim, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced by another": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("SQLite format 3\x00"), 0o600))
		},
		"in a folder that is gone": func(path string) error { return os.RemoveAll(path[:len(path)-len("/"+databaseName)]) },
	} {
		t.Run(claim, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			c := find(t, s, "terminal:general")
			deliverOnly(t, c, said(1, "before"))
			check.NoError(t, s.Upkeep().Takes(ctx))
			check.NoError(t, replace(s.path))
			check.Error(t, s.Upkeep().Takes(ctx), ErrReplaced)
			if r, err := c.Inbox().Deliver(ctx, said(2, "after")); !errors.Is(err, ErrReplaced) {
				t.Errorf("a message was accepted: %+v, %v", r, err)
			}
			check.Error(t, check.ErrorOf(s.Conversation(ctx, "terminal:new")), ErrReplaced)
		})
	}
	t.Run("and when it is back it goes on", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		c := find(t, s, "terminal:general")
		check.NoError(t, os.Rename(s.path, s.path+".away"))
		if _, err := c.Inbox().Deliver(ctx, said(1, "hello")); !errors.Is(err, ErrReplaced) {
			t.Fatalf("got %v", err)
		}
		check.NoError(t, os.Rename(s.path+".away", s.path))
		check.Equal(t, "took up", len(deliver(t, c, said(1, "hello"))), 1)
	})
}
