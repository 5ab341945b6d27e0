package memory_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

func TestDecay(t *testing.T) {
	draw := func(t *rapid.T) memory.Memory {
		return memory.Memory{
			Kind: rapid.SampledFrom(memory.Kinds).Draw(t, "kind"), Importance: rapid.Float64Range(0, 1).Draw(t, "importance"),
			Confirmed: rapid.IntRange(0, 50).Draw(t, "confirmed"), SaidAt: storetest.Day,
		}
	}
	after := func(t *rapid.T) time.Time { // a clock may be wrong: back to 1970
		return storetest.Day.Add(time.Duration(rapid.Int64Range(-56*365*24, 20*365*24).Draw(t, "hours")) * time.Hour)
	}
	t.Run("age never makes worth more, saying it again never less, something stays, and so does the order of two that differ in importance alone", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			m, now := draw(t), after(t)
			worth, later := m.Decayed(now), m.Decayed(now.Add(24*time.Hour))
			more, other := m, m
			more.Confirmed++
			other.Importance = rapid.Float64Range(0, 1).Draw(t, "other")
			if m.Importance-other.Importance > 1e-9 && worth <= other.Decayed(now) {
				t.Fatalf("%v and %v: got weights %v and %v", m.Importance, other.Importance, worth, other.Decayed(now))
			}
			if later > worth || worth > m.Importance || later < memory.Lasting*m.Importance || more.Decayed(now) < worth {
				t.Fatalf("%+v: got %v, a day later %v, after a repetition %v", m, worth, later, more.Decayed(now))
			}
		})
	})
	t.Run("who people are and what is pinned does not fade", func(t *testing.T) {
		for _, m := range []memory.Memory{{Kind: "identity", Importance: 0.7, SaidAt: storetest.Day}, {Kind: "observation", Importance: 0.7, Pinned: true, SaidAt: storetest.Day}} {
			check.Equal(t, fmt.Sprintf("weight of %+v", m), m.Decayed(storetest.Day.AddDate(50, 0, 0)), 0.7)
		}
	})
	t.Run("to read it changes nothing", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		storetest.Keep(t, c, "Ann", "Ann has a dog")
		before := storetest.Dump(t, c.Store())
		first := check.Must(storetest.Search(memory.Of(c), ctx, "dog", 9))(t)
		worth := first[0].Decayed(storetest.Day)
		for range 10 {
			found, err := storetest.Search(memory.Of(c), ctx, "dog", 9)
			check.Require(t, err == nil && found[0].Decayed(storetest.Day) == worth, "%+v, %v", found, err)
		}
		check.Equal(t, "writes", storetest.Dump(t, c.Store()), before)
	})
}
