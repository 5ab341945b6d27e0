package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// leaves are the places of the pages that hold a table's rows, in order.
func leaves(t *testing.T, dir, table string) (file []byte, places []int) {
	t.Helper()
	root, size := rootOf(t, dir, table)
	file, err := os.ReadFile(File(dir))
	if err != nil {
		t.Fatal(err)
	}
	var under func(at int)
	under = func(at int) {
		if file[at] == 13 { // a leaf; of the others 5 is the kind, and the newest child stands in the header
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

// shorten takes rows off a leaf: the last n, or the first -n.
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
	write(t, dir, databaseName, string(file))
}

// refused wants that a database that lacks rows is neither made anew nor changed.
func refused(t *testing.T, dir, words string) {
	t.Helper()
	damaged, err := os.ReadFile(File(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Rebuild(ctx, dir)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "`cairn restore FILE`") || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v", err)
	}
	if now, err := os.ReadFile(File(dir)); err != nil || !slices.Equal(now, damaged) {
		t.Error("it is another one", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 4 { // database, lock, and SQLite's two
		t.Error(entries, err)
	}
}

func TestRebuildLosesNothingUnnoticed(t *testing.T) {
	first := func(all []int) int { return all[0] }
	last := func(all []int) int { return all[len(all)-1] }
	for claim, damage := range map[string]func(t *testing.T, dir string) (words string){
		"messages between others": func(t *testing.T, dir string) string {
			shorten(t, dir, "messages", first, 2)
			return "terminal:general: 2 of its messages are missing"
		},
		"the first messages": func(t *testing.T, dir string) string {
			shorten(t, dir, "messages", first, -3)
			return "terminal:general: 3 of its messages are missing"
		},
		"the newest messages": func(t *testing.T, dir string) string {
			shorten(t, dir, "messages", last, 1)
			return "terminal:garden: 1 of its messages are missing"
		},
		"the newest messages, and that they were said": func(t *testing.T, dir string) string {
			shorten(t, dir, "messages", last, 1)
			db := open(File(dir), writerPragmas)
			defer db.Close()
			if _, err := db.Exec("UPDATE conversations SET next_seq = next_seq - 1 WHERE name = 'terminal:garden'"); err != nil {
				t.Fatal(err)
			}
			return "terminal:garden: the message #60 is missing"
		},
		"a memory": func(t *testing.T, dir string) string {
			shorten(t, dir, "memories", last, 1)
			return "memories lack 1 rows"
		},
		"what is set": func(t *testing.T, dir string) string {
			shorten(t, dir, "conversations", last, 1)
			return "conversations lack 1 rows"
		},
	} {
		t.Run(claim, func(t *testing.T) {
			dir, _ := stocked(t, 60)
			words := damage(t, dir)
			if _, err := Inspect(ctx, File(dir)); !errors.Is(err, ErrDamaged) {
				t.Fatalf("before: %v", err)
			}
			refused(t, dir, words)
		})
	}
	for _, which := range []string{"leaf", "root"} {
		t.Run("a "+which+" that is older than the rest", func(t *testing.T) {
			dir, _ := stocked(t, 60)
			before, places := leaves(t, dir, "messages")
			at := last(places)
			if which == "root" {
				root, _ := rootOf(t, dir, "messages")
				at = int(root)
			}
			s := openStore(t, dir)
			for i := range 100 {
				deliver(t, find(t, s, "terminal:garden"), said(1000+i, fmt.Sprintf("and the rose %d is open", i)))
			}
			s.Close()
			now, err := os.ReadFile(File(dir))
			if err != nil {
				t.Fatal(err)
			}
			if slices.Equal(now[at:at+4096], before[at:at+4096]) {
				t.Fatal("it is the same")
			}
			overwrite(t, File(dir), int64(at), before[at:at+4096])
			db := open(File(dir), readerPragmas)
			var n int
			err = db.QueryRow("SELECT count(text) FROM messages NOT INDEXED").Scan(&n)
			if db.Close(); err != nil || n >= 220 {
				t.Fatalf("%d messages can be read, %v", n, err)
			}
			refused(t, dir, "of its messages are missing")
		})
	}
}

// Holes that people made are none.
func TestRebuildOfWhatWasDeleted(t *testing.T) {
	dir, _ := stocked(t, 60)
	s := openStore(t, dir)
	c := find(t, s, "terminal:garden")
	if err := c.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	deliver(t, find(t, s, "terminal:new"), said(1, "soon to be gone"))
	if err := find(t, s, "terminal:new").Purge(ctx); err != nil {
		t.Fatal(err)
	}
	deliver(t, c, said(2000, "said after that"))
	general := find(t, s, "terminal:general")
	run(t, s, "UPDATE messages SET answered = 2 WHERE answered = 0")
	for _, c := range []*Conversation{c, general} {
		if _, started, err := c.StartSegment(ctx); err != nil || !started {
			t.Fatal(started, err)
		}
	}
	deliver(t, general, said(3000, "in a new segment"), said(3001, "to be deleted"))
	if _, err := general.Delete(ctx, []string{"m3001"}); err != nil {
		t.Fatal(err)
	}
	was := dump(t, s)
	s.Close()
	at, size := rootOf(t, dir, "messages_platform")
	overwrite(t, File(dir), at, make([]byte, size))
	if _, err := Rebuild(ctx, dir); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if now := dump(t, s); now != was {
		t.Errorf("it holds\n%s\nand held\n%s", now, was)
	}
	if found, err := s.Examine(ctx, false); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
