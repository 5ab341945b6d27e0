package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// stocked returns a folder with a closed database that contains something of each kind.
func stocked(t *testing.T, messages int) (dir, was string) {
	t.Helper()
	dir = t.TempDir()
	s := storetest.OpenStore(t, dir)
	for _, name := range []string{"terminal:general", "terminal:garden"} {
		c := storetest.Find(t, s, name)
		var all []store.Inbound
		for i := range messages {
			all = append(all, storetest.Said(i+1, fmt.Sprintf("message %d about tea, the garden and route %d", i, i*7)))
		}
		storetest.Deliver(t, c, all...)
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5))
		if _, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Content: "The garden is open on route 7.", Kind: "fact"}, "Ann"); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Run(t, s, `INSERT INTO pins (conversation, seq, made_by, made_at) VALUES (1, 2, 'Ann', 10)`)
	storetest.Run(t, s, `UPDATE sqlite_sequence SET seq = 77 WHERE name = 'memories'`)
	was = storetest.Dump(t, s)
	s.Close()
	return dir, was
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

// leaves returns the positions of a table's leaf pages, in order.
func leaves(t *testing.T, dir, table string) (file []byte, places []int) {
	t.Helper()
	root, size := rootOf(t, dir, table)
	file = check.Must(os.ReadFile(store.File(dir)))(t)
	var under func(at int)
	under = func(at int) {
		if file[at] == 13 { // a leaf; an inner page has kind 5, and its newest child in the header
			places = append(places, at)
			return
		}
		child := func(from int) int { return (int(binary.BigEndian.Uint32(file[from:])) - 1) * int(size) }
		for i := range int(binary.BigEndian.Uint16(file[at+3:])) {
			under(child(at + int(binary.BigEndian.Uint16(file[at+12+2*i:]))))
		}
		under(child(at + 8))
	}
	under(int(root))
	return file, places
}

// shorten removes rows from a leaf: the last n, or the first -n.
func shorten(t *testing.T, dir, table string, leaf func(all []int) int, n int) {
	t.Helper()
	file, all := leaves(t, dir, table)
	at := leaf(all)
	cells := int(binary.BigEndian.Uint16(file[at+3:]))
	if n < 0 {
		n = -n
		copy(file[at+8:], file[at+8+2*n:at+8+2*cells])
	}
	if cells < n {
		t.Fatalf("a leaf of %s has %d rows", table, cells)
	}
	binary.BigEndian.PutUint16(file[at+3:], uint16(cells-n))
	write(t, dir, store.DatabaseName, string(file))
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
			dir, _ := stocked(t, 12)
			at, size := rootOf(t, dir, name)
			overwrite(t, store.File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
			wantDamaged(t, dir)
		})
	}
}

func TestLostRowsAreDetected(t *testing.T) {
	first := func(all []int) int { return all[0] }
	last := func(all []int) int { return all[len(all)-1] }
	for _, test := range []struct {
		lost, table string
		leaf        func(all []int) int
		rows        int
	}{
		{"messages between others", "messages", first, 2},
		{"the first messages", "messages", first, -3},
		{"the newest messages", "messages", last, 1},
		{"a memory", "memories", last, 1},
		{"a conversation", "conversations", last, 1},
	} {
		t.Run(test.lost, func(t *testing.T) {
			dir, _ := stocked(t, 60)
			shorten(t, dir, test.table, test.leaf, test.rows)
			wantDamaged(t, dir)
		})
	}
	t.Run("the newest messages and their sequence numbers are lost", func(t *testing.T) {
		dir, _ := stocked(t, 60)
		shorten(t, dir, "messages", last, 1)
		db := store.OpenFile(store.File(dir), store.WriterPragmas)
		defer db.Close()
		check.Must(db.Exec("UPDATE conversations SET next_seq = next_seq - 1 WHERE name = 'terminal:garden'"))(t)
		wantDamaged(t, dir)
	})
	for _, which := range []string{"leaf", "root"} {
		t.Run("a "+which+" that is older than the rest", func(t *testing.T) {
			dir, _ := stocked(t, 60)
			before, places := leaves(t, dir, "messages")
			at := last(places)
			if which == "root" {
				root, _ := rootOf(t, dir, "messages")
				at = int(root)
			}
			s := storetest.OpenStore(t, dir)
			for i := range 100 {
				storetest.Deliver(t, storetest.Find(t, s, "terminal:garden"), storetest.Said(1000+i, fmt.Sprintf("and the rose %d is open", i)))
			}
			s.Close()
			now := check.Must(os.ReadFile(store.File(dir)))(t)
			if slices.Equal(now[at:at+4096], before[at:at+4096]) {
				t.Fatal("the file is unchanged")
			}
			overwrite(t, store.File(dir), int64(at), before[at:at+4096])
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
