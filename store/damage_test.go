package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
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
			c := find(t, s, name)
			for i := range 20 {
				deliverOnly(t, c, said(i+1, fmt.Sprintf("message %d about tea, the garden and route %d", i, i*7)))
			}
			deliver(t, c)
			play(t, c, "sum 1-5")
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

// wantSound fails if the doctor finds an inconsistency.
func wantSound(t check.Tester, s *store.Store) {
	t.Helper()
	found, err := s.Upkeep().Check(ctx)
	check.NoError(t, err)
	check.Len(t, "inconsistencies", found, 0)
}

// The doctor notices damage: integrity_check alone does not notice missing rows if all indexes are partial.
func TestDamageIsDetected(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	damaged := func(claim string, spoil func(t *testing.T, dir string)) {
		t.Run(claim, func(t *testing.T) {
			dir := stocked(t)
			spoil(t, dir)
			if errors.Is(check.ErrorOf(store.Inspect(ctx, store.File(dir))), store.ErrDamaged) {
				return
			}
			found, err := openShared(t, dir).Upkeep().Check(ctx)
			check.That(t, err != nil || len(found) > 0, "the damage was not noticed")
		})
	}
	for _, name := range []string{
		"messages_platform", "memories_fact", "outbox_unsent", // indexes
		"message_terms", "memory_terms", "members", // derived tables
		"messages", "pins",
	} {
		damaged("overwritten: "+name, func(t *testing.T, dir string) {
			at, size := rootOf(t, dir, name)
			overwrite(t, store.File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
		})
	}
	for lost, script := range map[string]string{
		"messages between others, and words": "DELETE FROM message_terms WHERE conversation = 1 AND seq IN (8, 9); DELETE FROM messages WHERE conversation = 1 AND seq IN (8, 9)",
		"the first messages":                 "DELETE FROM messages WHERE conversation = 1 AND seq <= 3",
		"the newest message":                 "DELETE FROM messages WHERE conversation = 1 AND seq = 20",
		"the newest message, and its number": "DELETE FROM messages WHERE conversation = 1 AND seq = 20; UPDATE conversations SET next_seq = 20 WHERE id = 1",
		"a memory":                           "DELETE FROM memories WHERE id = 1",
		"a conversation":                     "DELETE FROM conversations WHERE id = 2",
	} {
		damaged("lost: "+lost, func(t *testing.T, dir string) { runScripts(t, dir, "PRAGMA foreign_keys = OFF; "+script) })
	}
}

// A deleted message is in no turn: doctor must not take a summary that begins with it for one that cuts a turn.
func TestCheckOfCutTurns(t *testing.T) {
	for steps, want := range map[string]int{"delete 2; sum 1-1; sum 2-3": 0, "sum 1-1; sum 2-3": 2} {
		c := newTalk(t)
		deliver(t, c, asking(1, "one"), said(2, "of the same turn"))
		check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: 1}))(t)
		play(t, c, "say 3-4; "+steps)
		found := check.Must(c.Store().Upkeep().Check(ctx))(t)
		check.Equal(t, steps, fmt.Sprint(len(found), strings.Count(fmt.Sprint(found), "cuts a turn")), fmt.Sprint(want, want))
	}
}

// Words of a deleted message, and of one that is not there, must not be found.
func TestCheckOfWords(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "the garden"))
	storetest.Run(t, c.Store(), "UPDATE messages SET deleted_at = 1, text = ''")
	storetest.Run(t, c.Store(), "INSERT INTO message_terms VALUES (?, 'x', 7, 1, 1)", c.ID())
	check.EqualAll(t, "found", check.Must(c.Store().Upkeep().Check(ctx))(t), []store.Finding{
		{Conversation: c.Name(), What: "#1 was deleted and words of it are found still"},
		{Conversation: c.Name(), What: "words of #7 are found, which is not there"},
	})
}

// use uses a folder like a bot, and returns the first error.
func use(t *testing.T, dir string) (err error) {
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	places, _, err := s.Places(ctx, "", -1, 0)
	errs := []error{err}
	for _, p := range append(places, store.Place{Channel: "terminal:new"}) {
		c, err := s.Conversation(ctx, p.Channel)
		errs = append(errs, err)
		if err != nil {
			continue
		}
		errs = append(errs, check.ErrorOf(c.Compactions().Load(ctx)), check.ErrorOf(c.Inbox().Deliver(ctx, said(5000, "are you there?"))),
			check.ErrorOf(c.Inbox().Dequeue(ctx, store.All, 1000, time.Time{})), check.ErrorOf(memory.Of(c).Recall(ctx, memory.Question{Text: "the garden"})))
	}
	return errors.Join(append(errs, check.ErrorOf(s.Unfinished(ctx)), check.ErrorOf(s.Upkeep().Check(ctx)))...)
}

// For any changed bits, and a file that ends anywhere: the store only returns errors, reports the
// damage if the file does not open, and creates no new one.
func TestBitFlips(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	whole := read(t, store.File(stocked(t)))
	torn, log := left(t)
	base := read(t, store.File(torn))
	random := rand.New(rand.NewPCG(1, 2))
	flip := func(text string, from, to int) string {
		bytes := []byte(text)
		for range 1 + random.IntN(8) {
			bytes[from+random.IntN(to-from)] ^= 1 << random.IntN(8)
		}
		return string(bytes)
	}
	refused := 0
	for i := range 20 {
		dir := t.TempDir()
		file := whole
		page := random.IntN(len(whole)/4096) * 4096
		switch i % 5 {
		case 0:
			file = flip(whole, 0, 100) // the header
		case 1, 2:
			file = flip(whole, page, page+200) // the page's own header
		case 3:
			file = whole[:1+random.IntN(len(whole)-1)]
		case 4:
			file = base
			write(t, dir, store.DatabaseName+"-wal", flip(log, 0, len(log)))
		}
		write(t, dir, store.DatabaseName, file)
		if err := use(t, dir); errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer) {
			refused++ // others find an inconsistency: the doctor, a constraint, a value
		}
		info := check.Must(os.Stat(store.File(dir)))(t)
		check.Require(t, info.Size() >= int64(min(len(file), 4096)), "the file was replaced: %v", info)
	}
	check.That(t, refused >= 7, "got only %d noticed", refused)
}
