package memory

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor/summarize"
	"cairn/internal/check"
)

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
			for i, kind := range summarize.MemoryKinds {
				m := Memory{Kind: kind.Name, Importance: kind.Importance, SaidAt: day}
				worth := m.Worth(day.AddDate(0, 0, days))
				if worth > last || worth == last && kind.Importance != summarize.MemoryKinds[max(i-1, 0)].Importance {
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
		first := check.Must(MemoriesOf(c).Search(ctx, "dog", 9))(t)
		worth := first[0].Worth(day)
		for range 1000 {
			found, err := MemoriesOf(c).Search(ctx, "dog", 9)
			if err != nil || found[0].Worth(day) != worth {
				t.Fatalf("%+v, %v", found, err)
			}
		}
		check.Equal(t, "something is written", dump(t, c.store), before)
	})
}
