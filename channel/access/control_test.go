package access_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/testkit/check"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	m.Run()
}

// priced is a price list where each input token of the model costs a dollar.
var priced = prices.List{"one": {Rates: prices.Rates{Input: 1e6}}}

// control returns a control with rules, and what it logs.
func control(rules access.Rules, used ...store.Usage) (*access.Control, *check.Buffer) {
	log := new(check.Buffer)
	return access.New(rules, used, slog.New(slog.NewTextHandler(log, nil))), log
}

func usage(day string, tokens int64) store.Usage {
	return store.Usage{Day: day, Model: "one", Requests: 1, Tokens: prices.Tokens{Input: tokens}}
}

func TestTurnsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := control(access.Rules{TurnsPerMinute: 2})
		take := func(asked, wantOK, wantTell bool, who ...string) {
			t.Helper()
			ok, tell, err := c.TakeTurn(t.Context(), who, asked)
			check.NoError(t, err)
			check.Equal(t, fmt.Sprint(who, ": turn"), ok, wantOK)
			check.Equal(t, fmt.Sprint(who, ": notice"), tell, wantTell)
		}
		take(true, true, false, "u1")
		take(true, true, false, "u1")
		take(true, true, false) // nobody, as for a task
		take(false, false, false, "u1")
		take(true, false, true, "u1")
		take(true, false, false, "u1") // one notice a minute
		take(true, true, false, "u1", "u2")
		time.Sleep(time.Minute)
		take(true, true, false, "u1")
		c.Renew(access.Rules{})
		for range 9 {
			take(true, true, false, "u1")
		}
	})
}

func TestCallsPerHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log := control(access.Rules{CallsPerHour: 8})
		calls := c.Calls("test:1", slog.New(slog.NewTextHandler(log, nil)))
		for range 6 {
			check.NoError(t, calls.ForSummary(true))
		}
		check.Error(t, calls.ForSummary(false), compactor.ErrSpent)
		turn := calls.ForTurn(16)
		check.NoError(t, turn())
		check.NoError(t, turn())
		spent, ok := errors.AsType[*access.SpentError](turn())
		check.Require(t, ok, "a turn may make more calls than the limit")
		check.Equal(t, "class", spent.Class, "calls_per_hour")
		check.Contains(t, "sentence", spent.Sentence, "ask again in 60 minutes")
		check.Equal(t, "warnings", strings.Count(log.String(), "calls_per_hour_reached"), 1)
		made, limit := calls.InLastHour()
		check.EqualAll(t, "calls and limit", []int{made, limit}, []int{8, 8})
		check.NoError(t, c.Calls("test:2", nil).ForTurn(1)()) // another conversation
		time.Sleep(time.Hour)
		check.NoError(t, turn())
		c.Renew(access.Rules{})
		made, limit = calls.InLastHour()
		check.EqualAll(t, "calls and limit without one", []int{made, limit}, []int{0, 0})
	})
}

func TestCallsOfOneTurn(t *testing.T) {
	c, _ := control(access.Rules{})
	turn := c.Calls("test:1", nil).ForTurn(3)
	for range 3 {
		check.NoError(t, turn())
	}
	check.Error(t, turn(), llm.ErrTooManyCalls)
}

func TestSpentBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // midnight of 2000-01-01
		money := access.Money{Prices: priced, PerDay: 10, PerMonth: 30}
		c, log := control(access.Rules{Money: money}, usage("1999-12-31", 99), usage("2000-01-01", 4))
		calls := c.Calls("test:1", nil)
		turn := calls.ForTurn(16)
		check.NoError(t, turn())
		c.Count(usage("2000-01-01", 6))
		check.NoError(t, turn()) // it has begun
		refused := func(when, want string) {
			t.Helper()
			check.Error(t, calls.ForSummary(true), compactor.ErrSpent)
			spent, ok := errors.AsType[*access.SpentError](calls.ForTurn(16)())
			check.Require(t, ok, "%s: a turn may begin", when)
			check.Equal(t, when+": class", spent.Class, "budget")
			check.Contains(t, when, spent.Sentence, want)
		}
		refused("with the day's budget spent", "The budget for today is used up, so I cannot answer now.")
		check.Equal(t, "warnings", strings.Count(log.String(), "budget_spent"), 1)
		time.Sleep(24 * time.Hour)
		check.NoError(t, calls.ForTurn(16)())
		c.Count(usage("2000-01-02", 20))
		refused("with both spent", "from 2000-02-01 on, or ask the bot's operator to raise budget_per_month")
		time.Sleep(30 * 24 * time.Hour)
		check.NoError(t, calls.ForTurn(16)())
	})
}

func TestBudgets(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	used := []store.Usage{usage("2026-10-31", 7), usage("2026-11-01", 5), usage("2026-11-30", 8)}
	for name, c := range map[string]struct {
		perDay, perMonth float64
		want             []string
		ends             string
		near             bool
	}{
		"no budget":  {0, 0, nil, "", false},
		"of the day": {10, 0, []string{"$8.00 of $10.00 today"}, "2026-12-01", true},
		"both":       {100, 20, []string{"$8.00 of $100.00 today", "$13.00 of $20.00 this month"}, "2026-12-01", false},
	} {
		budgets := access.Money{Prices: priced, PerDay: c.perDay, PerMonth: c.perMonth}.Budgets(used, now)
		var got []string
		for _, b := range budgets {
			got = append(got, b.String())
		}
		check.EqualAll(t, name, got, c.want)
		for _, b := range budgets {
			check.Equal(t, name+": end of "+b.Key(), b.Ends().Format(time.DateOnly), c.ends)
			check.Equal(t, name+": "+b.Key()+" is nearly spent", b.NearlySpent(), c.near)
		}
	}
	check.Equal(t, "first day of the month", access.MonthStart(now), "2026-11-01")
}
