package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestTurnsOfSeveralProcesses(t *testing.T) {
	all, _ := fleet(t, 2)
	take := func(p *process, want bool, who ...string) {
		t.Helper()
		ok, err := store.LimitsOf(p.Store).TakeTurn(ctx, who, 2, time.Minute)
		check.NoError(t, err)
		check.Equal(t, fmt.Sprint("a turn of ", who), ok, want)
	}
	take(all[0], true, "ann")
	take(all[1], true, "ann")
	take(all[0], false, "ann")
	take(all[1], false, "ann")
	take(all[1], true, "ann", "bob") // for him
	take(all[0], true, "bob")
	take(all[0], false, "ann", "bob")
	check.EqualAll(t, "turns", storetest.Rows(t, all[0].Store, "SELECT author_id, CAST(sum(n) AS BIGINT) FROM taken_turns GROUP BY author_id ORDER BY author_id"), []string{"ann|2", "bob|2"})
	storetest.Run(t, all[0].Store, "UPDATE taken_turns SET until = until - 100000 WHERE author_id = 'ann'")
	take(all[1], true, "ann")
	check.NoError(t, store.LimitsOf(all[0].Store).Sweep(ctx))
	check.Equal(t, "rows after a sweep", number(t, all[0].Store, "SELECT CAST(sum(n) AS BIGINT) FROM taken_turns"), 3)
}

// Each process may exceed the limit by one, however many turns it takes at the same time.
func TestTurnsAtTheSameTime(t *testing.T) {
	all, _ := fleet(t, 2)
	var taken atomic.Int32
	var wait sync.WaitGroup
	for n := range 40 {
		wait.Go(func() {
			if check.Must(store.LimitsOf(all[n%2].Store).TakeTurn(ctx, []string{"ann"}, 10, time.Minute))(t) {
				taken.Add(1)
			}
		})
	}
	wait.Wait()
	check.That(t, taken.Load() >= 10 && taken.Load() <= 11, "%d turns of 10 were taken", taken.Load())
}

func TestTurnIsOneRoundTrip(t *testing.T) {
	s := newTalk(t).Store()
	take := func() { check.Must(store.LimitsOf(s).TakeTurn(ctx, []string{"ann", "bob"}, 2, time.Minute))(t) }
	take() // prepares the statement
	check.Equal(t, "round trips", tripsOf(t, s, take), 1)
}

func TestCallsOfTheFormerOwner(t *testing.T) {
	all, _ := fleet(t, 2)
	all[0].claim("terminal:general")
	all[0].claim("terminal:other")
	const hour = time.Hour
	for _, made := range []map[string]store.Counted{
		{"terminal:general": {N: 2, Left: hour}, "terminal:other": {N: 5, Left: hour}, "terminal:gone": {N: 9, Left: hour}},
		{"terminal:general": {N: 1}},
		{"terminal:general": {N: 3, Left: hour}},
	} {
		check.NoError(t, store.LimitsOf(all[0].Store).AddCalls(ctx, made))
	}
	all[0].dies()
	all[1].endsOthers(1)
	total := 0
	for _, c := range check.Must(store.LimitsOf(all[1].Store).Calls(ctx, "terminal:general"))(t) {
		total += c.N
		check.That(t, c.Left > 0 && c.Left <= hour+time.Minute, "a call counts for %v", c.Left)
	}
	check.Equal(t, "calls", total, 6)
	storetest.Run(t, all[1].Store, "UPDATE made_calls SET until = until - 10000000 WHERE conversation = (SELECT id FROM conversations WHERE name = 'terminal:general')")
	check.NoError(t, store.LimitsOf(all[1].Store).Sweep(ctx))
	check.Len(t, "calls after an hour", check.Must(store.LimitsOf(all[1].Store).Calls(ctx, "terminal:general"))(t), 0)
	check.Len(t, "calls elsewhere", check.Must(store.LimitsOf(all[1].Store).Calls(ctx, "terminal:other"))(t), 1)
}

func TestSpentInAllConversations(t *testing.T) {
	s := newTalk(t).Store()
	for i, day := range []string{"2026-03-27", "2026-03-28", "2026-03-28"} {
		c := storetest.Find(t, s, fmt.Sprint("terminal:", i))
		check.NoError(t, c.Turns().AddUsage(ctx, []store.Usage{usageRow(day, store.ForTurn, "m", 2), usageRow(day, store.ForSummary, "m", 1), usageRow(day, store.ForTurn, "other", 1)}))
	}
	spent := check.Must(store.LimitsOf(s).Spent(ctx, "2026-03-28"))(t)
	check.Len(t, "sums", spent, 2)
	one := usageRow("2026-03-28", "", "m", 1)
	check.EqualAll(t, "requests and input of the first", []int64{spent[0].Requests, spent[0].Input}, []int64{6 * one.Requests, 6 * one.Input})
	check.Equal(t, "the second", spent[1].Model, "other")
}
