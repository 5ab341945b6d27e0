package memory

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
)

// stocked is a folder with a database that holds something of all kinds, closed.
func stocked(t *testing.T, messages int) (dir, was string) {
	t.Helper()
	dir = t.TempDir()
	s := openStore(t, dir)
	for _, name := range []string{"terminal:general", "terminal:garden"} {
		c := find(t, s, name)
		var all []Inbound
		for i := range messages {
			all = append(all, said(i+1, fmt.Sprintf("message %d about tea, the garden and route %d", i, i*7)))
		}
		deliver(t, c, all...)
		land(t, c, stage(t, c, leaf, worker, 1, 5))
		if _, _, err := c.Remember(ctx, compactor.MemoryDraft{Content: "The garden is open on route 7.", Kind: "fact"}, "Ann"); err != nil {
			t.Fatal(err)
		}
	}
	run(t, s, `INSERT INTO pins (conversation, seq, made_by, made_at) VALUES (1, 2, 'Ann', 10)`)
	run(t, s, `UPDATE sqlite_sequence SET seq = 77 WHERE name = 'memories'`)
	was = dump(t, s)
	s.Close()
	return dir, was
}

// rootOf is where the first page of a table or index begins, and how large pages are.
func rootOf(t *testing.T, dir, name string) (at, size int64) {
	t.Helper()
	db := open(File(dir), readerPragmas)
	defer db.Close()
	if err := db.QueryRow("SELECT (rootpage - 1) * page_size, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", name).Scan(&at, &size); err != nil {
		t.Fatal(name, err)
	}
	return at, size
}

func TestRebuild(t *testing.T) {
	for _, name := range []string{
		"messages_platform", "memories_fact", "outbox_unsent", // indexes
		"message_terms", "memory_terms", "members", // what is made of messages and memories
	} {
		t.Run(name+" is made anew", func(t *testing.T) {
			dir, was := stocked(t, 12)
			at, size := rootOf(t, dir, name)
			overwrite(t, File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
			damaged, err := os.ReadFile(File(dir))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Inspect(ctx, File(dir)); !errors.Is(err, ErrDamaged) {
				t.Fatalf("before: %v", err)
			}
			aside, err := Rebuild(ctx, dir)
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := os.ReadFile(aside); err != nil || !slices.Equal(kept, damaged) {
				t.Error("what was there is not what was kept", err)
			}
			if _, err := Inspect(ctx, File(dir)); err != nil {
				t.Error(err)
			}
			s := openStore(t, dir)
			if now := dump(t, s); now != was {
				t.Errorf("it holds\n%s\nand held\n%s", now, was)
			}
			if found, err := s.Examine(ctx, false); err != nil || len(found) > 0 {
				t.Errorf("%v, %v", found, err)
			}
			if n := number(t, s, "SELECT seq FROM sqlite_sequence WHERE name = 'memories'"); n != 77 {
				t.Errorf("the next memory would be %d", n+1)
			}
			deliver(t, find(t, s, "terminal:general"), said(1000, "and on it goes"))
		})
	}
	for _, name := range []string{"messages", "pins"} {
		t.Run(name+" cannot be, and nothing is changed", func(t *testing.T) {
			dir, _ := stocked(t, 12)
			at, size := rootOf(t, dir, name)
			overwrite(t, File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
			damaged, err := os.ReadFile(File(dir))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Rebuild(ctx, dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "`cairn restore FILE`") {
				t.Errorf("got %v", err)
			}
			if now, err := os.ReadFile(File(dir)); err != nil || !slices.Equal(now, damaged) {
				t.Error("it is another one", err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 4 { // database, lock, and SQLite's two
				t.Error(entries, err)
			}
		})
	}
	t.Run("not beneath a bot", func(t *testing.T) {
		dir := t.TempDir()
		openStore(t, dir)
		if _, err := Rebuild(ctx, dir); !errors.Is(err, ErrInUse) {
			t.Error(err)
		}
	})
	t.Run("a sound one holds the same afterwards", func(t *testing.T) {
		dir, was := stocked(t, 5)
		if _, err := Rebuild(ctx, dir); err != nil {
			t.Fatal(err)
		}
		if now := dump(t, openStore(t, dir)); now != was {
			t.Errorf("it holds\n%s\nand held\n%s", now, was)
		}
	})
}
