package memory

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cairn/compactor"
)

// wantNoBytes fails if a file of a folder holds one of the texts, in whatever case.
// The files are read by another process: to close one here would take the locks of
// SQLite away.
func wantNoBytes(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := exec.Command("cat", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.ToLower(raw)
		for _, text := range texts {
			if n := bytes.Count(raw, []byte(text)); n > 0 {
				t.Errorf("%q stands %d times in %s", text, n, filepath.Base(file))
			}
		}
	}
}

// scattered fills two conversations in turn, so that pages are split, with many
// messages; of every fourth one each word has a word of its number in it.
func scattered(t *testing.T, s *Store, seed int64, n int) (c *Conversation, marked []int) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	c = find(t, s, "terminal:general")
	other := find(t, s, "terminal:other")
	for i := 1; i <= n; {
		var page []Inbound
		for ; len(page) < 30; i++ {
			text := ""
			for range 5 + r.Intn(30) {
				text += fmt.Sprintf("w%x ", r.Intn(4000))
			}
			if i%4 == 0 {
				for range 20 {
					text += fmt.Sprintf("w%x%s%d ", r.Intn(4000), secret, i)
				}
				marked = append(marked, i)
			}
			page = append(page, said(i, text))
		}
		if _, err := c.Import(ctx, page); err != nil {
			t.Fatal(err)
		}
		for j := range page {
			page[j].Text = fmt.Sprintf("w%x is another one's", r.Intn(4000))
		}
		if _, err := other.Import(ctx, page); err != nil {
			t.Fatal(err)
		}
	}
	return c, marked
}

func TestScrubbing(t *testing.T) {
	t.Run("nothing of what was deleted stays in unused parts of the pages or in the log, while the store is open", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		c, marked := scattered(t, s, 1, 900)
		remove(t, c, marked...)
		if done, err := s.scrub.scrub(ctx); err != nil || !done {
			t.Fatal(done, err)
		}
		wantNoBytes(t, dir, "xylophon")
		if n := number(t, s, "SELECT count(*) FROM unscrubbed"); n != 0 {
			t.Errorf("%d are due", n)
		}
		// What connections have in mind of the pages as they were does not come back.
		deliver(t, c, said(5000, "kangaroo"))
		deliver(t, find(t, s, "terminal:other"), said(5001, "and one more"))
		remove(t, c, 1, 2, 3)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantNoBytes(t, dir, "xylophon")
		s = openStore(t, dir)
		if problem := ""; s.read.QueryRow("PRAGMA integrity_check").Scan(&problem) != nil || problem != "ok" {
			t.Errorf("the database is damaged: %s", problem)
		}
		if found := recalled(t, find(t, s, "terminal:general"), "kangaroo"); len(found) != 1 {
			t.Errorf("found %v", found)
		}
	})
	t.Run("it comes by itself, a moment later", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, secret), said(2, "b"))
		remove(t, c, 1)
		for deadline := time.Now().Add(20 * time.Second); number(t, s, "SELECT count(*) FROM unscrubbed") > 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it does not come")
			}
		}
		wantNoBytes(t, dir, "xylophon")
	})
	t.Run("a reader who holds on to what was delays it, and nobody else", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, secret), said(2, "b"))
		tx, err := s.read.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var n int
		if err := tx.QueryRow("SELECT count(*) FROM messages").Scan(&n); err != nil {
			t.Fatal(err)
		}
		remove(t, c, 1)
		if done, err := s.scrub.scrub(ctx); err != nil || done {
			t.Fatalf("done %v, %v", done, err)
		}
		begun := time.Now()
		deliver(t, c, said(3, "c"))
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("a delivery took %v", took)
		}
		tx.Rollback()
		if done, err := s.scrub.scrub(ctx); err != nil || !done {
			t.Fatalf("done %v, %v", done, err)
		}
		wantNoBytes(t, dir, "xylophon")
	})
	t.Run("what a process left that was killed is scrubbed by the next one", func(t *testing.T) {
		dir, copied := t.TempDir(), t.TempDir()
		s := openStore(t, dir)
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, secret), said(2, "b"))
		remove(t, c, 1)
		for _, name := range []string{databaseName, databaseName + "-wal"} { // as a process leaves them that is killed now
			if err := exec.Command("cp", filepath.Join(dir, name), copied).Run(); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := os.ReadFile(filepath.Join(copied, databaseName+"-wal"))
		if err != nil || !bytes.Contains(raw, []byte(secret)) {
			t.Fatalf("the log holds nothing of it: %v", err)
		}
		next := openStore(t, copied)
		for deadline := time.Now().Add(20 * time.Second); number(t, next, "SELECT count(*) FROM unscrubbed") > 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it does not come")
			}
		}
		wantNoBytes(t, copied, "xylophon")
	})
	t.Run("what a shell purges beside the bot is gone when it ends", func(t *testing.T) {
		dir := t.TempDir()
		bot := openStore(t, dir)
		memories := scatteredMemories(t, find(t, bot, "terminal:general"), 2, 400)
		shell, err := Open(ctx, Options{Dir: dir, Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range memories {
			if err := shell.Purge(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := shell.Close(); err != nil {
			t.Fatal(err)
		}
		wantNoBytes(t, dir, "xylophon")
	})
	t.Run("who only looks on scrubs nothing", func(t *testing.T) {
		dir := t.TempDir()
		bot := openStore(t, dir)
		run(t, bot, "INSERT INTO unscrubbed (id) VALUES (NULL)")
		shell, err := Open(ctx, Options{Dir: dir, Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := shell.Close(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, bot, "SELECT count(*) FROM unscrubbed"); n != 1 {
			t.Errorf("%d are due", n)
		}
	})
	t.Run("a database that is a link to another place is scrubbed there", func(t *testing.T) {
		dir, elsewhere := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(elsewhere, "real.db"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(elsewhere, "real.db"), File(dir)); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir)
		c, marked := scattered(t, s, 1, 600)
		remove(t, c, marked...)
		if done, err := s.scrub.now(ctx); err != nil || !done {
			t.Fatal(done, err)
		}
		wantNoBytes(t, elsewhere, "xylophon")
	})
	t.Run("a form whose pages cannot be told apart stays whole", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(File(dir), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		db := open(File(dir), "_auto_vacuum=full")
		if _, err := db.Exec("VACUUM"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir)
		if n := number(t, s, "PRAGMA auto_vacuum"); n != 1 {
			t.Fatalf("auto_vacuum is %d", n)
		}
		c, marked := scattered(t, s, 1, 600)
		remove(t, c, marked...)
		if done, err := s.scrub.now(ctx); err != nil || !done {
			t.Fatal(done, err)
		}
		if problem := ""; s.read.QueryRow("PRAGMA integrity_check").Scan(&problem) != nil || problem != "ok" {
			t.Errorf("the database is damaged: %s", problem)
		}
	})
}

// scatteredMemories has a conversation remember much, every fourth time something
// secret, in pages that are split; it returns the numbers of those.
func scatteredMemories(t *testing.T, c *Conversation, seed int64, n int) (secrets []int64) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	for i := range n {
		text := fmt.Sprintf("w%d", i)
		for range 10 {
			text += fmt.Sprintf(" w%x", r.Intn(1<<20))
			if i%4 == 0 {
				text += fmt.Sprintf(" w%x%s%d", r.Intn(4000), secret, i)
			}
		}
		m, _, err := c.Remember(ctx, compactor.MemoryDraft{Kind: "fact", Content: text}, "Ada")
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			secrets = append(secrets, m.ID)
		}
	}
	return secrets
}

func TestPageSize(t *testing.T) {
	header := func(size uint16, reserved, vacuum byte) []byte {
		h := make([]byte, 100)
		h[16], h[17], h[20], h[55] = byte(size>>8), byte(size), reserved, vacuum
		return h
	}
	for _, test := range []struct {
		name   string
		header []byte
		bytes  int64
		size   int64
		known  bool
	}{
		{"an ordinary one", header(4096, 0, 0), 1 << 20, 4096, true},
		{"the largest pages", header(1, 0, 0), 1 << 20, 1 << 16, true},
		{"bytes of somebody else's in each", header(4096, 8, 0), 1 << 20, 4096, false},
		{"pages of references", header(4096, 0, 3), 1 << 20, 4096, false},
		{"64 GB", header(4096, 0, 0), 1 << 36, 4096, false},
		{"nothing", header(0, 0, 0), 0, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if size, known := pageSize(test.header, test.bytes); size != test.size || known != test.known {
				t.Errorf("%d, %v", size, known)
			}
		})
	}
}
