package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

func state(t *testing.T, c *store.Conversation, id int64) string {
	t.Helper()
	m, err := memory.In(c.Store()).Details(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return "gone"
	}
	check.NoError(t, err)
	return m.State
}

func checkState(t *testing.T, err error, want memory.StateError) {
	t.Helper()
	got, ok := errors.AsType[*memory.StateError](err)
	check.That(t, ok && *got == want, "got %v, want %v", err, &want)
}

func TestForgetCanBeUndone(t *testing.T) {
	t.Run("what was forgotten is again what it was", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		for n, was := range []string{"active", "superseded", "replaced"} {
			s := storetest.Keep(t, c, "Ann", fmt.Sprintf("Ann has %d dogs", n), 2)
			storetest.Run(t, c.Store(), "UPDATE memories SET state = ? WHERE id = ?", was, s.ID)
			check.NoError(t, memory.Of(c).Forget(ctx, s.ID))
			check.Equal(t, "state of the memory", state(t, c, s.ID), "forgotten")
			check.NoError(t, memory.Of(c).Restore(ctx, s.ID))
			check.Equal(t, "state of the memory", state(t, c, s.ID), was)
			checkState(t, memory.Of(c).Restore(ctx, s.ID), memory.StateError{ID: s.ID, State: was})
		}
		check.Equal(t, "answer", len(check.Must(storetest.Search(memory.Of(c), ctx, "dogs", 9))(t)), 1)
	})
	t.Run("not where another memory says the same by now", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		old := storetest.Keep(t, c, "Ann", "Ann has a dog")
		check.NoError(t, memory.Of(c).Forget(ctx, old.ID))
		storetest.Keep(t, c, "Ann", "ann has a DOG!")
		check.Error(t, memory.Of(c).Restore(ctx, old.ID), memory.ErrSaid)
		check.Equal(t, "the memory is restored", state(t, c, old.ID), "forgotten")
	})
}

func TestPurge(t *testing.T) {
	t.Run("purged it is gone, with its sources and words, and the chain is whole", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		var all []int64
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 9 }})
		for n, city := range []string{"Oslo", "Xanadu", "Bergen"} {
			check.Must(storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "Ann lives in %s", "kind": "fact", "messages": [%d], "supersedes": %d}`, city, n+1, n)))(t)
			all = append(all, int64(n+1))
		}
		chain := func(id int64) (list []int64) {
			t.Helper()
			for _, m := range check.Must(memory.In(c.Store()).Details(ctx, id))(t).Chain {
				list = append(list, m.ID)
			}
			return list
		}
		check.EqualAll(t, "the chain", chain(2), all)
		check.NoError(t, memory.In(c.Store()).Purge(ctx, 2))
		check.Error(t, memory.In(c.Store()).Purge(ctx, 2), store.ErrNotFound)
		check.EqualAll(t, "the chain", chain(1), []int64{1, 3})
		check.Equal(t, "state of memory 1", state(t, c, 1), "superseded")
		check.Equal(t, "rows left", storetest.Number(t, c.Store(), "SELECT (SELECT count(*) FROM memory_sources WHERE memory = 2) + (SELECT count(*) FROM memory_terms WHERE memory = 2)"), 0)
		for _, s := range []int64{1, 3} {
			check.NoError(t, memory.In(c.Store()).Purge(ctx, s))
		}
		check.Equal(t, "words left", storetest.Number(t, c.Store(), "SELECT count(*) FROM memory_terms"), 0)
	})
	t.Run("once the later ones of a chain are gone, in any order, the oldest is current again", func(t *testing.T) {
		for _, later := range [][]int{{2, 3}, {3, 2}, {2}} {
			c := storetest.Imported(t, 9)
			oslo, xanadu := storetest.Keep(t, c, "Ann", "Ann lives in Oslo", 1).ID, storetest.Keep(t, c, "Ann", "Ann lives in Xanadu", 2).ID
			bergen := storetest.Keep(t, c, "Ann", "Ann lives in Bergen", int64(later[len(later)-1])).ID
			storetest.Run(t, c.Store(), "UPDATE memories SET state = 'superseded', superseded_by = id + 1 WHERE id IN (?, ?)", oslo, xanadu)
			storetest.Remove(t, c, later...)
			check.EqualAll(t, "memories", storetest.Contents(t, c), []string{"fact: Ann lives in Oslo"})
			check.Equal(t, "rows", storetest.Number(t, c.Store(), "SELECT count(*) FROM memories WHERE id IN (?, ?)", xanadu, bergen), 0)
		}
	})
	t.Run("and no byte of it is in the data folder", func(t *testing.T) {
		dir := t.TempDir()
		c := storetest.Find(t, storetest.OpenStore(t, dir), "terminal:general")
		const word = "quizzaciously"
		s := storetest.Keep(t, c, "Ann", "Ann talks "+word)
		storetest.Keep(t, c, "Ann", "Ann has a dog")
		raw, err := exec.Command("cat", store.File(dir)+"-wal").Output()
		check.Require(t, err == nil && bytes.Contains(raw, []byte(word)), "want not found, got %v", err)
		check.NoError(t, memory.In(c.Store()).Purge(ctx, s.ID))
		check.NoError(t, c.Store().Upkeep().EraseFiles(ctx, store.Backups{}))
		storetest.WantNoBytes(t, dir, word)
	})
}

func TestEditedMemories(t *testing.T) {
	c := storetest.Imported(t, 4)
	s := storetest.Keep(t, c, "Ann", "Ann has a dog called Bello", 2)
	other := storetest.Keep(t, c, "Ann", "Ann plays the flute")
	check.NoError(t, memory.In(c.Store()).Edit(ctx, s.ID, "  Ann has a cat called Mina, key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH  "))
	m, err := memory.In(c.Store()).Details(ctx, s.ID)
	check.NoError(t, err)
	if !strings.HasPrefix(m.Content, "Ann has a cat called Mina") || strings.Contains(m.Content, "abcdefghijkl") || len(m.Messages) != 1 || m.Messages[0].Seq != 2 {
		t.Errorf("got %+v", m)
	}
	check.Equal(t, "found by the new text", len(check.Must(storetest.Search(memory.Of(c), ctx, "Mina cat", 9))(t)), 1)
	check.Equal(t, "found by the old text", len(check.Must(storetest.Search(memory.Of(c), ctx, "Bello", 9))(t)), 0)
	var wrong *memory.ContentError
	for _, text := range []string{"", " \n", strings.Repeat("x", memory.MaxContent+1)} {
		if err := memory.In(c.Store()).Edit(ctx, s.ID, text); !errors.As(err, &wrong) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	check.Error(t, memory.In(c.Store()).Edit(ctx, other.ID, strings.ToUpper(m.Content)), memory.ErrSaid)
	check.Error(t, memory.In(c.Store()).Edit(ctx, 999, "Ann has a cat"), store.ErrNotFound)
	check.NoError(t, memory.Of(c).Forget(ctx, other.ID))
	checkState(t, memory.In(c.Store()).Edit(ctx, other.ID, "Ann plays the oboe"), memory.StateError{ID: other.ID, State: "forgotten"})
	checkState(t, memory.Of(c).Pin(ctx, other.ID, true), memory.StateError{ID: other.ID, State: "forgotten"})
	check.NoError(t, check.ErrorOf(privacy.Of(c).Delete(ctx, []string{m.Messages[0].ID})))
	check.Equal(t, "state after its message is deleted", state(t, c, s.ID), "gone")
}
