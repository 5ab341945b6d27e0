package memory

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/compactor"

	"pgregory.net/rapid"
)

func TestForgettingIsUndoneUntilPurged(t *testing.T) {
	state := func(t *testing.T, c *Conversation, id int64) string {
		t.Helper()
		m, _, err := c.store.Memory(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return "gone"
		}
		if err != nil {
			t.Fatal(err)
		}
		return m.State
	}
	t.Run("what was forgotten is again what it was", func(t *testing.T) {
		c := imported(t, 4)
		for n, was := range []string{"active", "superseded", "replaced"} {
			s := keep(t, c, "Ann", fmt.Sprintf("Ann has %d dogs", n), 2)
			run(t, c.store, "UPDATE memories SET state = ? WHERE id = ?", was, s.ID)
			if err := c.Forget(ctx, s.ID); err != nil || state(t, c, s.ID) != "forgotten" {
				t.Errorf("%v", err)
			}
			if err := c.Restore(ctx, s.ID); err != nil || state(t, c, s.ID) != was {
				t.Errorf("%s: %s, %v", was, state(t, c, s.ID), err)
			}
			if err := c.Restore(ctx, s.ID); !errors.Is(err, ErrNotFound) {
				t.Errorf("restored twice: %v", err)
			}
		}
		if found, err := c.SearchMemories(ctx, "dogs", 9); err != nil || len(found) != 1 {
			t.Errorf("%+v, %v", found, err)
		}
	})
	t.Run("not where another memory says the same by now, which is named", func(t *testing.T) {
		c := imported(t, 4)
		old := keep(t, c, "Ann", "Ann has a dog")
		if err := c.Forget(ctx, old.ID); err != nil {
			t.Fatal(err)
		}
		again := keep(t, c, "Ann", "ann has a DOG!")
		if err := c.Restore(ctx, old.ID); !errors.Is(err, ErrSaid) || !strings.Contains(err.Error(), fmt.Sprintf("memory %d", again.ID)) {
			t.Errorf("%v", err)
		}
		if state(t, c, old.ID) != "forgotten" {
			t.Error("it is restored all the same")
		}
	})
	t.Run("another conversation decides nothing", func(t *testing.T) {
		c := imported(t, 4)
		other := find(t, c.store, "terminal:other")
		s := keep(t, c, "Ann", "Ann has a dog")
		for what, err := range map[string]error{"forget": other.Forget(ctx, s.ID), "restore": other.Restore(ctx, s.ID), "pin": other.PinMemory(ctx, s.ID, true)} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	t.Run("purged it is gone, with its sources and words, and the chain is whole", func(t *testing.T) {
		c := imported(t, 9)
		var all []int64
		tools := c.Tools(ToolOptions{Turn: func() int64 { return 9 }})
		for n, city := range []string{"Oslo", "Xanadu", "Bergen"} {
			if _, err := call(tools, "memory_save", fmt.Sprintf(`{"content": "Ann lives in %s", "kind": "fact", "messages": [%d], "supersedes": %d}`, city, n+1, n)); err != nil {
				t.Fatal(err)
			}
			all = append(all, int64(n+1))
		}
		chain := func(id int64) (list []int64) {
			t.Helper()
			found, err := c.store.Chain(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found {
				list = append(list, m.ID)
			}
			return list
		}
		for _, id := range all {
			if got := chain(id); !slices.Equal(got, all) {
				t.Errorf("the chain of %d is %v", id, got)
			}
		}
		if err := c.store.Purge(ctx, 2); err != nil {
			t.Fatal(err)
		}
		if err := c.store.Purge(ctx, 2); !errors.Is(err, ErrNotFound) {
			t.Errorf("purged twice: %v", err)
		}
		if got := chain(1); !slices.Equal(got, []int64{1, 3}) || state(t, c, 1) != "superseded" {
			t.Errorf("the chain is %v", got)
		}
		if n := number(t, c.store, "SELECT (SELECT count(*) FROM memory_sources WHERE memory = 2) + (SELECT count(*) FROM memory_terms WHERE memory = 2)"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		for _, s := range []int64{1, 3} {
			if err := c.store.Purge(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		if n := number(t, c.store, "SELECT count(*) FROM memory_terms"); n != 0 {
			t.Errorf("%d words are left", n)
		}
	})
	t.Run("and no byte of it is in the data folder", func(t *testing.T) {
		dir := t.TempDir()
		c := find(t, openStore(t, dir), "terminal:general")
		const word = "quizzaciously"
		s := keep(t, c, "Ann", "Ann talks "+word)
		keep(t, c, "Ann", "Ann has a dog")
		raw, err := exec.Command("cat", filepath.Join(dir, databaseName+"-wal")).Output()
		if err != nil || !bytes.Contains(raw, []byte(word)) {
			t.Fatalf("it never was there: %v", err)
		}
		if err := c.store.Purge(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := c.store.Vacuum(ctx); err != nil {
			t.Fatal(err)
		}
		wantNoBytes(t, dir, word)
	})
}

func TestExpiry(t *testing.T) {
	c := imported(t, 9)
	tools := c.Tools(ToolOptions{Turn: func() int64 { return 9 }})
	run(t, c.store, "UPDATE messages SET said_at = ?", time.Now().Add(-time.Hour).UnixMilli())
	save := func(content, expires string) (string, error) {
		return call(tools, "memory_save", fmt.Sprintf(`{"content": %q, "kind": "event", "messages": [2], "expires": %q}`, content, expires))
	}
	t.Run("what has passed, or is no time, is told in words the model can act on", func(t *testing.T) {
		for expires, want := range map[string]string{
			"2020-05-08": "has passed", "tomorrow": "write a day", "30m": "has passed", "-3d": "write a day", "0d": "write a day",
			"99999999d": "write a day", "9999999999h": "write a day", "2026-13-40": "write a day", "10000-01-01": "write a day", "P3D": "write a day",
		} {
			if answer, err := save("Ann is away", expires); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, %v", expires, answer, err)
			}
		}
	})
	later := time.Now().AddDate(1, 0, 0).UTC()
	t.Run("a day, a time or a while are taken, a while from when it was said", func(t *testing.T) {
		for i, expires := range []string{later.Format(time.DateOnly), later.Format(time.RFC3339), later.Format("2006-01-02T15:04Z07:00"), "3d", "2w", "36h"} {
			if _, err := save(fmt.Sprintf("Ann is away for reason %d", i), expires); err != nil {
				t.Errorf("%s: %v", expires, err)
			}
		}
		m, _, err := c.store.Memory(ctx, 4)
		if err != nil || !m.Expires.Equal(m.SaidAt.Add(72*time.Hour)) || m.State != "active" {
			t.Errorf("%+v, %v", m, err)
		}
		if m, _, err = c.store.Memory(ctx, 1); err != nil || m.Expires.Sub(later.Truncate(24*time.Hour)) != 24*time.Hour {
			t.Errorf("a day lasts until it is over: %+v, %v", m, err)
		}
	})
	t.Run("at its end it is not recalled, and is listed as expired", func(t *testing.T) {
		run(t, c.store, "UPDATE memories SET expires_at = 1 WHERE id IN (4, 5)")
		for state, want := range map[string]int{"": 4, "active": 4, "expired": 2, "current": 6, "all": 6, "forgotten": 0} {
			for _, query := range []string{"", "away"} {
				found, total, err := c.store.Memories(ctx, Filter{Conversation: c.Name(), State: state, Query: query})
				if err != nil || len(found) != want || total != want {
					t.Errorf("%q %q: %d, %v", state, query, total, err)
				}
				for _, m := range found {
					if want := map[bool]string{true: "expired", false: "active"}[m.ID == 4 || m.ID == 5]; m.State != want {
						t.Errorf("memory %d is %s", m.ID, m.State)
					}
				}
			}
		}
		if found, err := c.SearchMemories(ctx, "away reason", 99); err != nil || len(found) != 4 {
			t.Errorf("recalled %d, %v", len(found), err)
		}
		answer, err := call(tools, "memory_search", `{"query": "away", "kind": "event"}`)
		if err != nil || !strings.Contains(answer, `"total":4`) {
			t.Errorf("%s, %v", answer, err)
		}
	})
	t.Run("pinned it has no end", func(t *testing.T) {
		if err := c.PinMemory(ctx, 4, true); err != nil {
			t.Fatal(err)
		}
		if m, _, err := c.store.Memory(ctx, 4); err != nil || m.State != "active" || !m.Pinned {
			t.Errorf("%+v, %v", m, err)
		}
		if found, err := c.SearchMemories(ctx, "away", 99); err != nil || len(found) != 5 {
			t.Errorf("recalled %d, %v", len(found), err)
		}
		if err := c.PinMemory(ctx, 4, false); err != nil {
			t.Fatal(err)
		}
		if m, _, _ := c.store.Memory(ctx, 4); m.State != "expired" {
			t.Errorf("%+v", m)
		}
	})
	t.Run("said again after its end it has none, and with another end that one", func(t *testing.T) {
		if _, err := call(tools, "memory_save", `{"content": "Ann is away for reason 3", "kind": "event", "messages": [4]}`); err != nil {
			t.Fatal(err)
		}
		if m, _, err := c.store.Memory(ctx, 4); err != nil || m.State != "active" || !m.Expires.IsZero() || m.Confirmed != 2 {
			t.Errorf("%+v, %v", m, err)
		}
		if _, err := call(tools, "memory_save", `{"content": "Ann is away for reason 3", "kind": "event", "messages": [6], "expires": "9d"}`); err != nil {
			t.Fatal(err)
		}
		if m, _, err := c.store.Memory(ctx, 4); err != nil || m.Expires.IsZero() || m.Confirmed != 3 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestWorth(t *testing.T) {
	draw := func(t *rapid.T) Memory {
		return Memory{
			Kind: rapid.SampledFrom(Kinds).Draw(t, "kind"), Importance: rapid.Float64Range(0, 1).Draw(t, "importance"),
			Confirmed: rapid.IntRange(0, 50).Draw(t, "confirmed"), SaidAt: day,
		}
	}
	after := func(t *rapid.T) time.Time {
		return day.Add(time.Duration(rapid.Int64Range(-1, 20*365*24).Draw(t, "hours")) * time.Hour)
	}
	t.Run("age never makes worth more, saying it again never less, and something stays", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			m, now := draw(t), after(t)
			worth, later := m.Worth(now), m.Worth(now.Add(24*time.Hour))
			more := m
			more.Confirmed++
			if later > worth || worth > m.Importance || later < lasting*m.Importance || more.Worth(now) < worth {
				t.Fatalf("%+v: %v, a day later %v, once more said %v", m, worth, later, more.Worth(now))
			}
		})
	})
	t.Run("of two that differ in importance alone the order stays", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, now := draw(t), after(t)
			b := a
			b.Importance = rapid.Float64Range(0, 1).Draw(t, "other")
			if (a.Importance > b.Importance) != (a.Worth(now) > b.Worth(now)) && a.Importance-b.Importance > 1e-9 {
				t.Fatalf("%v and %v are worth %v and %v", a.Importance, b.Importance, a.Worth(now), b.Worth(now))
			}
		})
	})
	t.Run("and so does that of the kinds", func(t *testing.T) {
		for days := range 3000 {
			last := 2.0
			for i, kind := range compactor.MemoryKinds {
				m := Memory{Kind: kind.Name, Importance: kind.Importance, SaidAt: day}
				worth := m.Worth(day.AddDate(0, 0, days))
				if worth > last || worth == last && kind.Importance != compactor.MemoryKinds[max(i-1, 0)].Importance {
					t.Fatalf("after %d days %s is worth %v, the kind before %v", days, kind.Name, worth, last)
				}
				last = worth
			}
		}
	})
	t.Run("who people are and what is pinned does not fade", func(t *testing.T) {
		for _, m := range []Memory{{Kind: "identity", Importance: 0.7, SaidAt: day}, {Kind: "observation", Importance: 0.7, Pinned: true, SaidAt: day}} {
			if got := m.Worth(day.AddDate(50, 0, 0)); got != 0.7 {
				t.Errorf("%+v is worth %v", m, got)
			}
		}
	})
	t.Run("to read a thousand times changes nothing", func(t *testing.T) {
		c := imported(t, 4)
		keep(t, c, "Ann", "Ann has a dog")
		before := dump(t, c.store)
		first, err := c.SearchMemories(ctx, "dog", 9)
		if err != nil {
			t.Fatal(err)
		}
		worth := first[0].Worth(day)
		for range 1000 {
			found, err := c.SearchMemories(ctx, "dog", 9)
			if err != nil || found[0].Worth(day) != worth {
				t.Fatalf("%+v, %v", found, err)
			}
		}
		if dump(t, c.store) != before {
			t.Error("something is written")
		}
	})
}
