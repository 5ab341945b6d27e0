package access_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/store"
	"cairn/testkit/check"
)

// shared returns a control that shares its limits with other processes, which take as many turns as left says.
func shared(rules access.Rules, left *int) *access.Control {
	c, _ := control(rules)
	c.Share(func(context.Context, []string, int, time.Duration) (bool, error) {
		*left--
		if *left < -1 {
			return false, errors.New("the database is away")
		}
		return *left >= 0, nil
	})
	return c
}

func TestTurnsCountForOtherProcesses(t *testing.T) {
	left := 2
	c := shared(access.Rules{TurnsPerMinute: 5}, &left)
	take := func(want bool) {
		t.Helper()
		ok, tell, err := c.TakeTurn(t.Context(), []string{"u1"}, true)
		check.NoError(t, err)
		check.EqualAll(t, "turn and notice", []bool{ok, tell}, []bool{want, !want})
	}
	take(true)
	take(true)
	take(false)
	_, _, err := c.TakeTurn(t.Context(), []string{"u1"}, true)
	check.That(t, err != nil, "a turn is taken without the database")
	left = 9
	for range 3 { // the two that were refused do not count
		take(true)
	}
	ok, _, err := c.TakeTurn(t.Context(), []string{"u1"}, true)
	check.That(t, !ok && err == nil, "the process itself takes more than the limit: %v", err)
}

func TestCallsAreSavedAndRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 0
		rules := access.Rules{CallsPerHour: 3}
		before := shared(rules, &left)
		saved := func(failed error) (all []store.Counted) {
			t.Helper()
			check.Error(t, before.SaveCalls(func(made map[string]store.Counted) error {
				all = append(all, made["test:1"])
				return failed
			}), failed)
			return all
		}
		turn := before.Calls("test:1", slog.New(slog.DiscardHandler)).ForTurn(16)
		check.NoError(t, turn())
		away := errors.New("the database is away")
		saved(away)
		check.NoError(t, turn())
		check.EqualAll(t, "saved", saved(nil), []store.Counted{{N: 2, Left: time.Hour}})
		check.Len(t, "saved again", saved(nil), 0)

		next := shared(rules, &left).Calls("test:1", slog.New(slog.DiscardHandler))
		for range 2 { // also when the conversation is opened again
			next.Restore([]store.Counted{{N: 2, Left: time.Hour}})
		}
		turn = next.ForTurn(16)
		check.NoError(t, turn())
		next.Restore([]store.Counted{{N: 2, Left: time.Hour}}) // the last one is not saved yet
		check.Error(t, turn(), compactor.ErrSpent)
		time.Sleep(time.Hour)
		check.NoError(t, turn())
	})
}

// What is written while the database is read counts, and what was read counts once.
func TestSpendingOfSeveralProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // midnight of 2000-01-01
		left := 0
		c := shared(access.Rules{Money: access.Money{Prices: priced, PerDay: 1000, PerMonth: 1000}}, &left)
		spent := func(when string, today, month float64) {
			t.Helper()
			b := c.Budgets()
			check.EqualAll(t, when, []float64{b[0].Spent, b[1].Spent}, []float64{today, month})
		}
		reread := func(since string, while func(), rows ...store.Usage) {
			t.Helper()
			check.NoError(t, c.Reread(func(from string) ([]store.Usage, error) {
				check.Equal(t, "since", from, since)
				while()
				return rows, nil
			}))
		}
		nothing := func() {}
		mine := usage("2000-01-01", 5)
		c.Count(mine)
		c.Written(mine)
		c.Count(mine)
		spent("at first", 10, 10)
		reread("2000-01-01", func() { c.Written(mine) }, usage("2000-01-01", 5+20))
		spent("with one that is written while others are read", 30, 30)
		reread("2000-01-01", nothing, usage("2000-01-01", 10+20))
		spent("with all from the database", 30, 30)
		check.That(t, c.Reread(func(string) ([]store.Usage, error) { return nil, errors.New("away") }) != nil, "no error")
		spent("when it is away", 30, 30)

		time.Sleep(24 * time.Hour)
		reread("2000-01-01", nothing, usage("2000-01-01", 31), usage("2000-01-02", 1))
		spent("on the next day", 1, 32)
		time.Sleep(2 * time.Hour)
		reread("2000-01-01", nothing, usage("2000-01-01", 31), usage("2000-01-02", 2)) // the last time was at midnight
		reread("2000-01-02", nothing, usage("2000-01-02", 3))
		spent("later", 3, 34)
		time.Sleep(30 * 24 * time.Hour)
		reread("2000-02-01", nothing)
		spent("in the next month", 0, 0)
	})
}
