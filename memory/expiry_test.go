package memory_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

func TestEndOf(t *testing.T) {
	now := time.Now()
	for expires, want := range map[string]string{
		"2020-05-08": "has passed", "tomorrow": "write a day", "30m": "has passed", "-3d": "write a day", "0d": "write a day",
		"99999999d": "write a day", "9999999999h": "write a day", "2026-13-40": "write a day", "10000-01-01": "write a day", "P3D": "write a day",
	} {
		check.ErrorContains(t, expires, check.ErrorOf(memory.EndOf(expires, now.Add(-time.Hour), now)), want)
	}
}

func TestExpiry(t *testing.T) {
	c := storetest.Imported(t, 9)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 9 }})
	storetest.Run(t, c.Store(), "UPDATE messages SET said_at = ?", time.Now().Add(-time.Hour).UnixMilli())
	save := func(content, expires string) (string, error) {
		return storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": %q, "kind": "event", "messages": [2], "expires": %q}`, content, expires))
	}
	later := time.Now().AddDate(1, 0, 0).UTC()
	t.Run("a day, a time or a while are taken, a while from when it was said", func(t *testing.T) {
		for i, expires := range []string{later.Format(time.DateOnly), later.Format(time.RFC3339), later.Format("2006-01-02T15:04Z07:00"), "3d", "2w", "36h"} {
			if _, err := save(fmt.Sprintf("Ann is away for reason %d", i), expires); err != nil {
				t.Errorf("%s: %v", expires, err)
			}
		}
		m, err := memory.In(c.Store()).Details(ctx, 4)
		check.That(t, err == nil && m.Expires.Equal(m.SaidAt.Add(72*time.Hour)) && m.State == "active", "%+v, %v", m, err)
		if m, err = memory.In(c.Store()).Details(ctx, 1); err != nil || m.Expires.Sub(later.Truncate(24*time.Hour)) != 24*time.Hour {
			t.Errorf("a day ends at its end: %+v, %v", m, err)
		}
	})
	t.Run("at its end it is not recalled, and is listed as expired", func(t *testing.T) {
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
		check.Equal(t, "recalled", len(check.Must(storetest.Search(memory.Of(c), ctx, "away reason", 99))(t)), 4)
		answer := check.Must(storetest.Call(tools, "memory_search", `{"query": "away", "kind": "event"}`))(t)
		check.Contains(t, "answer", answer, `"total":4`)
	})
	t.Run("pinned it has no end", func(t *testing.T) {
		check.NoError(t, memory.Of(c).Pin(ctx, 4, true))
		if m, err := memory.In(c.Store()).Details(ctx, 4); err != nil || m.State != "active" || !m.Pinned {
			t.Errorf("%+v, %v", m, err)
		}
		check.Equal(t, "recalled", len(check.Must(storetest.Search(memory.Of(c), ctx, "away", 99))(t)), 5)
		check.NoError(t, memory.Of(c).Pin(ctx, 4, false))
		check.Equal(t, "state of the memory", storetest.Memory(t, c.Store(), 4).State, "expired")
	})
	t.Run("said again after its end it has none, and with another end that one", func(t *testing.T) {
		check.Must(storetest.Call(tools, "memory_save", `{"content": "Ann is away for reason 3", "kind": "event", "messages": [4]}`))(t)
		if m, err := memory.In(c.Store()).Details(ctx, 4); err != nil || m.State != "active" || !m.Expires.IsZero() || m.Confirmed != 2 {
			t.Errorf("%+v, %v", m, err)
		}
		check.Must(storetest.Call(tools, "memory_save", `{"content": "Ann is away for reason 3", "kind": "event", "messages": [6], "expires": "9d"}`))(t)
		if m, err := memory.In(c.Store()).Details(ctx, 4); err != nil || m.Expires.IsZero() || m.Confirmed != 3 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}
