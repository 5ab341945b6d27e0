package memory_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

func TestDecay(t *testing.T) {
	check.SkipUnderRace(t)
	draw := func(t *rapid.T) memory.Memory {
		return memory.Memory{
			Kind: rapid.SampledFrom(memory.Kinds).Draw(t, "kind"), Importance: rapid.Float64Range(0, 1).Draw(t, "importance"),
			Confirmed: rapid.IntRange(0, 50).Draw(t, "confirmed"), SaidAt: storetest.Day,
		}
	}
	after := func(t *rapid.T) time.Time { // a clock may be wrong: back to 1970
		return storetest.Day.Add(time.Duration(rapid.Int64Range(-56*365*24, 20*365*24).Draw(t, "hours")) * time.Hour)
	}
	t.Run("age never makes worth more, saying it again never less, and something stays", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			m, now := draw(t), after(t)
			worth, later := m.Decayed(now), m.Decayed(now.Add(24*time.Hour))
			more := m
			more.Confirmed++
			if later > worth || worth > m.Importance || later < memory.Lasting*m.Importance || more.Decayed(now) < worth {
				t.Fatalf("%+v: got %v, a day later %v, after a repetition %v", m, worth, later, more.Decayed(now))
			}
		})
	})
	t.Run("of two that differ in importance alone the order stays", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, now := draw(t), after(t)
			b := a
			b.Importance = rapid.Float64Range(0, 1).Draw(t, "other")
			if (a.Importance > b.Importance) != (a.Decayed(now) > b.Decayed(now)) && a.Importance-b.Importance > 1e-9 {
				t.Fatalf("%v and %v: got weights %v and %v", a.Importance, b.Importance, a.Decayed(now), b.Decayed(now))
			}
		})
	})
	t.Run("and so does that of the kinds", func(t *testing.T) {
		for days := range 3000 {
			last := 2.0
			for i, kind := range summarize.MemoryKinds {
				m := memory.Memory{Kind: kind.Name, Importance: kind.Importance, SaidAt: storetest.Day}
				worth := m.Decayed(storetest.Day.AddDate(0, 0, days))
				if worth > last || worth == last && kind.Importance != summarize.MemoryKinds[max(i-1, 0)].Importance {
					t.Fatalf("after %d days %s: got weight %v, previous kind %v", days, kind.Name, worth, last)
				}
				last = worth
			}
		}
	})
	t.Run("who people are and what is pinned does not fade", func(t *testing.T) {
		for _, m := range []memory.Memory{{Kind: "identity", Importance: 0.7, SaidAt: storetest.Day}, {Kind: "observation", Importance: 0.7, Pinned: true, SaidAt: storetest.Day}} {
			check.Equal(t, fmt.Sprintf("weight of %+v", m), m.Decayed(storetest.Day.AddDate(50, 0, 0)), 0.7)
		}
	})
	t.Run("to read a thousand times changes nothing", func(t *testing.T) {
		c := storetest.Imported(t, 4)
		storetest.Keep(t, c, "Ann", "Ann has a dog")
		before := storetest.Dump(t, c.Store())
		first := check.Must(storetest.Search(memory.Of(c), ctx, "dog", 9))(t)
		worth := first[0].Decayed(storetest.Day)
		for range 1000 {
			found, err := storetest.Search(memory.Of(c), ctx, "dog", 9)
			if err != nil || found[0].Decayed(storetest.Day) != worth {
				t.Fatalf("%+v, %v", found, err)
			}
		}
		check.Equal(t, "writes", storetest.Dump(t, c.Store()), before)
	})
}
