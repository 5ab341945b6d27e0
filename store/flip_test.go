package store_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

// use does with a folder what a bot does, and returns the first error.
func use(t *testing.T, dir string) (err error) {
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	names, err := s.Known(ctx)
	errs := []error{err}
	for _, name := range append(names, "terminal:new") {
		c, err := s.Conversation(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, err = c.Compactions().Load(ctx)
		errs = append(errs, err)
		_, err = c.Inbox().Deliver(ctx, storetest.Said(5000, "are you there?"))
		errs = append(errs, err)
		_, err = c.Inbox().Dequeue(ctx, store.All, 1000, time.Time{})
		errs = append(errs, err)
		_, err = memory.Of(c).Recall(ctx, memory.Question{Text: "the garden"})
		errs = append(errs, err)
	}
	_, err = s.Unfinished(ctx)
	errs = append(errs, err)
	_, err = s.Upkeep().Check(ctx)
	return errors.Join(append(errs, err)...)
}

// Whatever bits change, and wherever the file ends: the store breaks in nothing but
// errors, says that the file is damaged where it does not open, and begins no new one.
func TestBitFlips(t *testing.T) {
	dir, _ := stocked(t, 20)
	whole := check.Must(os.ReadFile(store.File(dir)))(t)
	torn, log := left(t)
	base := check.Must(os.ReadFile(store.File(torn)))(t)
	random := rand.New(rand.NewPCG(1, 2))
	flip := func(bytes []byte, from, to int) []byte {
		bytes = append([]byte{}, bytes...)
		for range 1 + random.IntN(8) {
			bytes[from+random.IntN(to-from)] ^= 1 << random.IntN(8)
		}
		return bytes
	}
	refused, broke := 0, 0
	for i := range 40 {
		dir := t.TempDir()
		write(t, dir, store.LockName, "1\n"+store.HeldNote+"\n")
		size := len(whole)
		switch i % 5 {
		case 0:
			write(t, dir, store.DatabaseName, string(flip(whole, 0, 100))) // the header
		case 1, 2:
			page := random.IntN(size/4096) * 4096
			write(t, dir, store.DatabaseName, string(flip(whole, page, page+200))) // what a page says of itself
		case 3:
			size = 1 + random.IntN(size-1)
			write(t, dir, store.DatabaseName, string(whole[:size]))
		case 4:
			size = len(base)
			write(t, dir, store.DatabaseName, string(base))
			write(t, dir, store.DatabaseName+"-wal", string(flip(log, 0, len(log))))
		}
		err := use(t, dir)
		switch {
		case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrNewer):
			refused++
		case err != nil && !strings.Contains(err.Error(), "another program"):
			broke++ // something does not fit together: Examine, a constraint, a value
		}
		if info, err := os.Stat(store.File(dir)); err != nil || info.Size() < int64(min(size, 4096)) {
			t.Fatalf("the file has become another: %v, %v", info, err)
		}
	}
	if refused < 14 {
		t.Errorf("only %d of them were noticed, %d otherwise", refused, broke)
	}
	t.Logf("%d were told to be damaged, %d broke otherwise", refused, broke)
}

// A log that lies beside another database than its own, as after somebody copied a backup
// over cairn.db by hand, is played back into it: SQLite cannot tell. What comes of it is
// whole, or is found to be damaged.
func TestForeignWriteAheadLog(t *testing.T) {
	killed, log := left(t)
	for name, of := range map[string]func() string{
		"an older state of the same": func() string {
			base := check.Must(os.ReadFile(store.File(killed)))(t)
			return string(base)
		},
		"another one": func() string {
			dir, _ := stocked(t, 20)
			whole := check.Must(os.ReadFile(store.File(dir)))(t)
			return string(whole)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, store.DatabaseName, of())
			write(t, dir, store.DatabaseName+"-wal", string(log))
			err := use(t, dir)
			if _, inspected := store.Inspect(ctx, store.File(dir)); err == nil && inspected != nil || err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("it was used with %v, and the doctor says %v", err, inspected)
			}
		})
	}
}

// A folder that is copied while a bot runs: the copy opens whole, or is told to be damaged.
func TestFolderCopiedFromRunningBot(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	c := storetest.Find(t, s, "terminal:general")
	for i := range 8 {
		storetest.Deliver(t, c, storetest.Said(i+1, "message"))
		copied := t.TempDir()
		for _, name := range []string{store.DatabaseName, store.DatabaseName + "-wal", store.LockName} { // one after the other, as cp does
			text := check.Must(os.ReadFile(dir + "/" + name))(t)
			write(t, copied, name, string(text))
			storetest.Deliver(t, c, storetest.Said(100*(i+1), "meanwhile"))
		}
		other, err := store.Open(ctx, store.Options{Dir: copied})
		if errors.Is(err, store.ErrDamaged) {
			continue
		}
		check.NoError(t, err)
		if _, err := other.Upkeep().Check(ctx); err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Error(err)
		}
		if n := storetest.Number(t, other, "SELECT count(*) FROM messages"); n < i {
			t.Errorf("%d of %d messages are in the copy", n, i)
		}
		other.Close()
	}
}
