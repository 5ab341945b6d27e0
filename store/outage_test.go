package store_test

import (
	"context"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// After a time without the database, processes do not end each other: all of them may have been away.
func TestProcessesSurviveAnOutage(t *testing.T) {
	const lasts = 300 * time.Millisecond
	s := storetest.OpenStore(t, t.TempDir())
	join := func(name string) *store.Lease {
		return check.Must(s.Processes().Join(ctx, store.Process{Name: name}, lasts))(t)
	}
	first := join("first")
	second := join("second")
	time.Sleep(lasts + 50*time.Millisecond)
	renewed := func(l *store.Lease) []string { return check.Must(l.Renew(ctx))(t) }
	check.EqualAll(t, "ended by the first that is back", renewed(first), nil)
	check.EqualAll(t, "ended by the second", renewed(second), nil)
	began := time.Now()
	var ended []string
	for len(ended) == 0 { // the second fails
		time.Sleep(lasts / 10)
		ended = renewed(first)
	}
	check.EqualAll(t, "ended later", ended, []string{"second"})
	check.That(t, time.Since(began) >= lasts-lasts/10, "it was ended after %v", time.Since(began))
	check.Error(t, check.ErrorOf(second.Renew(ctx)), store.ErrEnded)
}

// An outage may end the lease of one process and not that of another.
func TestProcessesSurviveAShortOutage(t *testing.T) {
	const lasts = 2 * time.Second
	s := storetest.OpenStore(t, t.TempDir())
	second := check.Must(s.Processes().Join(ctx, store.Process{Name: "second"}, lasts))(t)
	first := check.Must(s.Processes().Join(ctx, store.Process{Name: "first"}, lasts))(t)
	storetest.Run(t, s, "UPDATE processes SET lease_until = 0 WHERE name = 'second'") // by now
	time.Sleep(lasts*3/4 - time.Until(first.Until().Add(-lasts)))
	check.EqualAll(t, "ended by the first", check.Must(first.Renew(ctx))(t), nil)
	check.NoError(t, check.ErrorOf(second.Renew(ctx)))
}

// A paused bot stays so while the database is away.
func TestPausesSurviveAnOutage(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	check.Must(s.Processes().Join(ctx, store.Process{Name: "first"}, time.Hour))(t)
	check.NoError(t, s.Pauses().Pause(ctx, "terminal:general", store.Person{}))
	paused := []string{"terminal:general"}
	check.EqualAll(t, "paused", check.Must(s.Pauses().List(ctx))(t), paused)
	time.Sleep(1100 * time.Millisecond) // then they are read again
	away, cancel := context.WithCancel(ctx)
	cancel()
	scopes, err := s.Pauses().List(away)
	check.Error(t, err, context.Canceled)
	check.EqualAll(t, "paused, as far as is known", scopes, paused)
}

// A process that joins ends nobody: the others may have been away, and are back.
func TestWhoJoinsAfterAnOutageEndsNobody(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	first := check.Must(s.Processes().Join(ctx, store.Process{Name: "first"}, time.Second))(t)
	storetest.Run(t, s, "UPDATE processes SET lease_until = 0")
	second := check.Must(s.Processes().Join(ctx, store.Process{Name: "second"}, time.Second))(t)
	check.NoError(t, check.ErrorOf(first.Renew(ctx)))
	check.EqualAll(t, "ended by the second", check.Must(second.Renew(ctx))(t), nil)
}
