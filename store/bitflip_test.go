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

// use uses a folder like a bot, and returns the first error.
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

// For any changed bits, and a file that ends anywhere: the store only returns errors, reports the
// damage if the file does not open, and creates no new one.
func TestBitFlips(t *testing.T) {
	whole := []byte(read(t, store.File(stocked(t))))
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
		size := len(whole)
		switch i % 5 {
		case 0:
			write(t, dir, store.DatabaseName, string(flip(whole, 0, 100))) // the header
		case 1, 2:
			page := random.IntN(size/4096) * 4096
			write(t, dir, store.DatabaseName, string(flip(whole, page, page+200))) // the page's own header
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
			broke++ // an inconsistency: Examine, a constraint, a value
		}
		if info, err := os.Stat(store.File(dir)); err != nil || info.Size() < int64(min(size, 4096)) {
			t.Fatalf("the file was replaced: %v, %v", info, err)
		}
	}
	if refused < 14 {
		t.Errorf("got only %d noticed, %d otherwise", refused, broke)
	}
	t.Logf("%d were told to be damaged, %d broke otherwise", refused, broke)
}
