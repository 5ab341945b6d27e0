package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func wantStateError(t *testing.T, err error, id int64, state string) {
	t.Helper()
	got, ok := errors.AsType[*memory.StateError](err)
	check.That(t, ok && *got == (memory.StateError{ID: id, State: state}), "got %v, want that memory %d is %s", err, id, state)
}

func TestForgetCanBeUndone(t *testing.T) {
	c := imported(t, 4)
	for n, was := range []string{"active", "superseded", "replaced"} {
		id := keep(t, c, "Ann", fmt.Sprintf("Ann has %d dogs", n), 2).ID
		storetest.Run(t, c.Store(), "UPDATE memories SET state = ? WHERE id = ?", was, id)
		check.NoError(t, memory.Of(c).Forget(ctx, id))
		check.Equal(t, "state", details(t, c.Store(), id).State, "forgotten")
		check.NoError(t, memory.Of(c).Restore(ctx, id))
		check.Equal(t, "state", details(t, c.Store(), id).State, was)
		wantStateError(t, memory.Of(c).Restore(ctx, id), id, was)
	}
	check.Len(t, "found", searched(t, c, "dogs", 9), 1)
	// Not where another memory says the same by now.
	check.NoError(t, memory.Of(c).Forget(ctx, 1))
	keep(t, c, "Ann", "ann has 0 DOGS!")
	check.Error(t, memory.Of(c).Restore(ctx, 1), memory.ErrDuplicate)
	check.Equal(t, "state", details(t, c.Store(), 1).State, "forgotten")
}

func TestPurge(t *testing.T) {
	t.Run("purged it is gone, with its sources and words, and the chain is whole", func(t *testing.T) {
		c := imported(t, 9)
		memories := memory.In(c.Store())
		for n, city := range []string{"Oslo", "Xanadu", "Bergen"} {
			save(t, toolsAt(c, 9), "Ann lives in "+city, int64(n+1), fmt.Sprintf(`, "supersedes": %d`, n))
		}
		chain := func(id int64, want ...int64) {
			t.Helper()
			chain := check.Must(memories.Details(ctx, id))(t).Chain
			check.EqualAll(t, "the chain", storetest.Map(chain, func(m memory.Memory) int64 { return m.ID }), want)
		}
		chain(2, 1, 2, 3)
		check.NoError(t, memories.Purge(ctx, 2))
		check.Error(t, memories.Purge(ctx, 2), store.ErrNotFound)
		chain(1, 1, 3)
		check.Equal(t, "state of memory 1", details(t, c.Store(), 1).State, "superseded")
		const rows = "SELECT (SELECT count(*) FROM memory_sources WHERE memory = 2) + (SELECT count(*) FROM memory_terms WHERE memory = 2)"
		check.Equal(t, "rows left", number(t, c.Store(), rows), 0)
		check.NoError(t, errors.Join(memories.Purge(ctx, 1), memories.Purge(ctx, 3)))
		check.Equal(t, "words left", number(t, c.Store(), "SELECT count(*) FROM memory_terms"), 0)
	})
	t.Run("once the later ones of a chain are gone, in any order, the oldest is current again", func(t *testing.T) {
		for _, later := range [][]int{{2, 3}, {3, 2}, {2}} {
			c := imported(t, 9)
			oslo := keep(t, c, "Ann", "Ann lives in Oslo", 1).ID
			xanadu := keep(t, c, "Ann", "Ann lives in Xanadu", 2).ID
			bergen := keep(t, c, "Ann", "Ann lives in Bergen", int64(later[len(later)-1])).ID
			storetest.Run(t, c.Store(), "UPDATE memories SET state = 'superseded', superseded_by = id + 1 WHERE id IN (?, ?)", oslo, xanadu)
			remove(t, c, later...)
			wantContents(t, c, "Ann lives in Oslo")
			check.Equal(t, "rows", number(t, c.Store(), "SELECT count(*) FROM memories WHERE id IN (?, ?)", xanadu, bergen), 0)
		}
	})
}

func TestEditedMemories(t *testing.T) {
	c := imported(t, 4)
	memories := memory.In(c.Store())
	s := keep(t, c, "Ann", "Ann has a dog called Bello", 2)
	other := keep(t, c, "Ann", "Ann plays the flute")
	check.NoError(t, memories.Edit(ctx, s.ID, "  Ann has a cat\x00 called Mina,\xff key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH  "))
	m := check.Must(memories.Details(ctx, s.ID))(t)
	check.HasPrefix(t, "content", m.Content, "Ann has a cat called Mina,\uFFFD key")
	check.Lacks(t, "content", m.Content, "abcdefghijkl")
	check.That(t, len(m.Messages) == 1 && m.Messages[0].Seq == 2, "got %+v", m)
	check.Len(t, "found by the new text", searched(t, c, "Mina cat", 9), 1)
	check.Len(t, "found by the old text", searched(t, c, "Bello", 9), 0)
	for _, text := range []string{"", " \n", strings.Repeat("x", memory.MaxContent+1)} {
		_, wrong := errors.AsType[*memory.ContentError](memories.Edit(ctx, s.ID, text))
		check.That(t, wrong, "%.20q is accepted", text)
	}
	check.Error(t, memories.Edit(ctx, other.ID, strings.ToUpper(m.Content)), memory.ErrDuplicate)
	check.Error(t, memories.Edit(ctx, 999, "Ann has a cat"), store.ErrNotFound)
	check.NoError(t, memory.Of(c).Forget(ctx, other.ID))
	wantStateError(t, memories.Edit(ctx, other.ID, "Ann plays the oboe"), other.ID, "forgotten")
	wantStateError(t, memory.Of(c).Pin(ctx, other.ID, true), other.ID, "forgotten")
	remove(t, c, 2)
	check.Error(t, check.ErrorOf(memories.Details(ctx, s.ID)), store.ErrNotFound)
}

func TestMoments(t *testing.T) {
	now := time.Date(2026, 5, 10, 12, 0, 0, 0, time.Local)
	for expires, want := range map[string]string{
		"2020-05-08": "has passed", "tomorrow": "write a day", "30m": "has passed", "-3d": "write a day", "0d": "write a day",
		"99999999d": "write a day", "9999999999h": "write a day", "2026-13-40": "write a day", "10000-01-01": "write a day", "P3D": "write a day",
	} {
		check.ErrorContains(t, expires, check.ErrorOf(memory.EndOf(expires, now.Add(-time.Hour), now)), want)
	}
	for text, want := range map[string]time.Time{
		"2026-05-08": now.Add(-36 * time.Hour), "2026-04": now.Add(-228 * time.Hour), "2026-05-08T15:00": now.Add(-45 * time.Hour), "7d": now.AddDate(0, 0, -7),
	} {
		check.Equal(t, "until "+text, check.Must(memory.Until(text, now))(t), want)
	}
	check.That(t, check.ErrorOf(memory.Until("soon", now)) != nil, "soon is accepted as a time")
}

func TestExpiry(t *testing.T) {
	c := imported(t, 9)
	tools := toolsAt(c, 9)
	storetest.Run(t, c.Store(), "UPDATE messages SET said_at = ?", time.Now().Add(-time.Hour).UnixMilli())
	away := func(reason int, message int64, expires string) {
		t.Helper()
		if expires != "" {
			expires = fmt.Sprintf(`, "expires": %q`, expires)
		}
		save(t, tools, fmt.Sprintf("Ann lives for away reason %c", 'A'+rune(reason)), message, expires)
	}
	later := time.Now().AddDate(1, 0, 0).UTC()
	for i, expires := range []string{later.Format(time.DateOnly), later.Format(time.RFC3339), later.Format("2006-01-02T15:04Z07:00"), "3d", "2w", "36h"} {
		away(i, 2, expires)
	}
	state := func(want string, confirmed int) memory.Memory {
		t.Helper()
		m := details(t, c.Store(), 4)
		check.That(t, m.State == want && m.Confirmed == confirmed, "got %+v", m)
		return m
	}
	m := state("active", 1)
	check.That(t, m.Expires.Equal(m.SaidAt.Add(72*time.Hour)), "a while from when it was said: %+v", m)
	m = details(t, c.Store(), 1)
	check.Equal(t, "a day ends at its end", m.Expires.Sub(later.Truncate(24*time.Hour)), 24*time.Hour)
	// At its end it is not recalled, and is listed as expired.
	storetest.Run(t, c.Store(), "UPDATE memories SET expires_at = 1 WHERE id IN (4, 5)")
	for state, want := range map[string]int{"": 4, "active": 4, "expired": 2, "current": 6, "all": 6, "forgotten": 0} {
		for _, query := range []string{"", "away"} {
			found, total, err := memory.In(c.Store()).List(ctx, memory.Filter{Conversation: c.Name(), State: state, Query: query})
			check.That(t, err == nil && len(found) == want && total == want, "%q %q: %d, %v", state, query, total, err)
			for _, m := range found {
				check.Equal(t, fmt.Sprintf("memory %d has expired", m.ID), m.State == "expired", m.ID == 4 || m.ID == 5)
			}
		}
	}
	check.Len(t, "recalled", searched(t, c, "away reason", 99), 4)
	check.Contains(t, "answer", call(t, tools, "memory_search", `{"query": "away", "kind": "fact"}`), `"total":4`)
	check.NoError(t, memory.Of(c).Pin(ctx, 4, true)) // pinned it has no end
	check.That(t, state("active", 1).Pinned, "it is not pinned")
	check.Len(t, "recalled", searched(t, c, "away", 99), 5)
	check.NoError(t, memory.Of(c).Pin(ctx, 4, false))
	state("expired", 1)
	away(3, 4, "") // said again after its end it has none, and with another end that one
	check.That(t, state("active", 2).Expires.IsZero(), "it has an end")
	away(3, 6, "9d")
	check.That(t, !state("active", 3).Expires.IsZero(), "it has no end")
}

// Age never makes worth more, saying it again never less, something stays, and so does the order of two that differ in importance
// alone. Who people are and what is pinned does not fade.
func TestDecay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := memory.Memory{Memory: store.Memory{
			Kind: rapid.SampledFrom(memory.Kinds).Draw(t, "kind"), Importance: rapid.Float64Range(0, 1).Draw(t, "importance"),
			Confirmed: rapid.IntRange(0, 50).Draw(t, "confirmed"), SaidAt: storetest.Day,
		}}
		hours := rapid.Int64Range(-56*365*24, 20*365*24).Draw(t, "hours") // a clock may be wrong: back to 1970
		now := storetest.Day.Add(time.Duration(hours) * time.Hour)
		worth := m.Decayed(now)
		later := m.Decayed(now.Add(24 * time.Hour))
		more := m
		other := m
		more.Confirmed++
		other.Importance = rapid.Float64Range(0, 1).Draw(t, "other")
		ordered := m.Importance-other.Importance <= 1e-9 || worth > other.Decayed(now)
		check.Require(t, ordered, "%v and %v: got weights %v and %v", m.Importance, other.Importance, worth, other.Decayed(now))
		fades := later <= worth && worth <= m.Importance && later >= memory.Lasting*m.Importance && more.Decayed(now) >= worth
		check.Require(t, fades, "%+v: got %v, a day later %v, after a repetition %v", m, worth, later, more.Decayed(now))
	})
	for _, row := range []store.Memory{{Kind: "identity"}, {Kind: "observation", Pinned: true}} {
		m := memory.Memory{Memory: row}
		m.Importance = 0.7
		m.SaidAt = storetest.Day
		check.Equal(t, fmt.Sprintf("weight of %+v", m), m.Decayed(storetest.Day.AddDate(50, 0, 0)), 0.7)
	}
}
