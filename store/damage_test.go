package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
	"cairn/transcript"
)

// stockedFile is a closed database that contains something of each kind, made once.
var stockedFile []byte

// stocked returns a folder with such a database.
func stocked(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if stockedFile == nil {
		s := storetest.OpenStore(t, dir)
		for _, name := range []string{"terminal:general", "terminal:garden"} {
			c := storetest.Find(t, s, name)
			var all []store.Inbound
			for i := range 20 {
				all = append(all, storetest.Said(i+1, fmt.Sprintf("message %d about tea, the garden and route %d", i, i*7)))
			}
			storetest.Deliver(t, c, all...)
			storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5))
			storetest.Keep(t, c, "Ann", "The garden is open on route 7.")
		}
		storetest.Run(t, s, `INSERT INTO pins (conversation, seq, made_by, made_at) VALUES (1, 2, 'Ann', 10)`)
		check.NoError(t, s.Close())
		stockedFile = check.Must(os.ReadFile(store.File(dir)))(t)
	}
	write(t, dir, store.DatabaseName, string(stockedFile))
	return dir
}

// rootOf returns the position of the first page of a table or index, and the page size.
func rootOf(t *testing.T, dir, name string) (at, size int64) {
	t.Helper()
	db := store.OpenFile(store.File(dir), store.ReaderPragmas)
	defer db.Close()
	if err := db.QueryRow("SELECT (rootpage - 1) * page_size, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", name).Scan(&at, &size); err != nil {
		t.Fatal(name, err)
	}
	return at, size
}

// wantDamaged fails unless the doctor notices the damage: integrity_check alone does not notice
// missing rows if all indexes are partial.
func wantDamaged(t *testing.T, dir string) {
	t.Helper()
	if _, err := store.Inspect(ctx, store.File(dir)); errors.Is(err, store.ErrDamaged) {
		return
	}
	s := check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t)
	defer s.Close()
	if found, err := s.Upkeep().Check(ctx); err == nil && len(found) == 0 {
		t.Error("the damage was not noticed")
	}
}

// wantSound fails if the doctor finds an inconsistency.
func wantSound(t check.Tester, s *store.Store) {
	t.Helper()
	found, err := s.Upkeep().Check(ctx)
	check.NoError(t, err)
	check.Len(t, "inconsistencies", found, 0)
}

func TestOverwrittenPagesAreDetected(t *testing.T) {
	for _, name := range []string{
		"messages_platform", "memories_fact", "outbox_unsent", // indexes
		"message_terms", "memory_terms", "members", // derived tables
		"messages", "pins",
	} {
		t.Run(name, func(t *testing.T) {
			dir := stocked(t)
			at, size := rootOf(t, dir, name)
			overwrite(t, store.File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
			wantDamaged(t, dir)
		})
	}
}

func TestLostRowsAreDetected(t *testing.T) {
	for lost, script := range map[string]string{
		"messages between others":            "DELETE FROM messages WHERE conversation = 1 AND seq IN (3, 4)",
		"the first messages":                 "DELETE FROM messages WHERE conversation = 1 AND seq <= 3",
		"the newest message":                 "DELETE FROM messages WHERE conversation = 1 AND seq = 20",
		"the newest message, and its number": "DELETE FROM messages WHERE conversation = 1 AND seq = 20; UPDATE conversations SET next_seq = 20 WHERE id = 1",
		"a memory":                           "DELETE FROM memories WHERE id = 1",
		"a conversation":                     "DELETE FROM conversations WHERE id = 2",
	} {
		t.Run(lost, func(t *testing.T) {
			dir := stocked(t)
			runScripts(t, dir, "PRAGMA foreign_keys = OFF; "+script)
			wantDamaged(t, dir)
		})
	}
}

// A deleted message is in no turn: doctor must not take a summary that begins with it for one that cuts a turn.
func TestCheckOfCutTurns(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Asking(1, "one"), storetest.Said(2, "of the same turn"))
		check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: 1}))
		storetest.Deliver(t, c, storetest.Said(3, "three"), storetest.Said(4, "four"))
		if deleted {
			storetest.Remove(t, c, 2)
		}
		for _, sp := range [][2]int64{{1, 1}, {2, 3}} {
			storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, sp[0], sp[1]))
		}
		found := check.Must(c.Store().Upkeep().Check(ctx))(t)
		check.Equal(t, "reported", strings.Contains(fmt.Sprint(found), "cuts a turn"), !deleted)
		if deleted {
			check.Len(t, "findings", found, 0)
		}
	}
}
