package memory

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatSQLiteGivesUpOnIsTold(t *testing.T) {
	t.Run("damaged pages, to who reads it and to who writes there", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		find(t, s, "terminal:general")
		damage(t, s, dir, "inbox")
		s = openStore(t, dir)
		c := find(t, s, "terminal:general")
		_, counting := c.Counts(ctx)
		_, listing := s.Unfinished(ctx)
		_, delivering := c.Deliver(ctx, said(1, "hello"))
		for _, err := range []error{counting, listing, delivering} {
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "`cairn restore FILE` puts a backup in its place") {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("a file that is no database", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, databaseName, strings.Repeat("no database ", 1000))
		for _, shared := range []bool{false, true} {
			if _, err := Open(ctx, Options{Dir: dir, Shared: shared}); !errors.Is(err, ErrDamaged) {
				t.Errorf("shared %v: got %v", shared, err)
			}
		}
	})
	t.Run("a disk without room", func(t *testing.T) {
		c := newConversation(t)
		run(t, c.store, "PRAGMA max_page_count = 1") // it cannot have fewer than it has
		_, err := c.Deliver(ctx, said(1, strings.Repeat("long ", 20_000)))
		if !errors.Is(err, ErrFull) || errors.Is(err, ErrDamaged) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Deliver(ctx, said(2, "short")); err != nil {
			t.Errorf("what fits is refused too: %v", err)
		}
	})
}

// damage closes the store and overwrites the roots of a table and its indexes.
func damage(t *testing.T, s *Store, dir, table string) {
	t.Helper()
	size := number(t, s, "PRAGMA page_size")
	rows, err := s.read.Query("SELECT rootpage FROM sqlite_schema WHERE tbl_name = ?", table)
	if err != nil {
		t.Fatal(err)
	}
	var pages []int
	for rows.Next() {
		var page int
		if err := rows.Scan(&page); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	if err := errors.Join(rows.Err(), rows.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, databaseName), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, page := range pages {
		if _, err := file.WriteAt(bytes.Repeat([]byte{0xee}, size), int64(size*(page-1))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADamagedCompactionIsAMarkerUntilItIsHealed(t *testing.T) {
	for claim, damage := range map[string]string{
		"a kind there is none of":         "kind = 'poem'",
		"a maker there is none of":        "made_by = 'nobody'",
		"children that cannot be read":    "children = '[1,'",
		"sources that are something else": `sources = '{"a":1}'`,
	} {
		t.Run(claim, func(t *testing.T) {
			c := imported(t, 10)
			land(t, c, stage(t, c, leaf, worker, 1, 5))
			run(t, c.store, "PRAGMA ignore_check_constraints = on")
			run(t, c.store, "UPDATE compactions SET "+damage)
			state := load(t, c)
			if shape(state.Head.Stack) != "marker emergency 1-5" || len(state.Messages) != 5 || state.Head.Stack[0].Text != "" {
				t.Fatalf("the stack is %+v", state.Head.Stack)
			}
			land(t, c, stage(t, c, leaf, worker, 1, 5))
			if got := shape(load(t, c).Head.Stack); got != "leaf worker 1-5" {
				t.Errorf("healed it is %s", got)
			}
		})
	}
}
