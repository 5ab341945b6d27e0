package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// A process goes on after the standby has taken the place of the primary: nothing confirmed is lost, and leases and epochs are as they were.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t)
	standby := pgtest.NewStandby(t, primary, true)
	first := join(t, standby.Both("postgres"))
	second := join(t, standby.Both("postgres"))
	talk := first.claim("terminal:general")
	former := second.claim("terminal:other")
	check.NoError(t, second.Leave(ctx))
	deliver(t, talk, said(1, "stored on both"))

	unfreeze := standby.Freeze(t)
	confirmed := make(chan error, 1)
	go func() {
		hasty, cancel := context.WithTimeout(ctx, time.Second) // canceled, a commit that waits for the standby would count where it is
		defer cancel()
		confirmed <- check.ErrorOf(talk.Inbox().Deliver(hasty, said(2, "stored on one")))
	}()
	select {
	case err := <-confirmed:
		t.Fatalf("what the standby lacks is confirmed, or given up: %v", err)
	case <-time.After(2 * time.Second):
	}
	primary.Crash()
	check.Error(t, <-confirmed, store.ErrUnknown)
	unfreeze()
	standby.Promote(t)

	eventually(t, "the message is stored", func() error { return check.ErrorOf(talk.Inbox().Deliver(ctx, said(2, "stored on one"))) })
	db := standby.Connect("postgres", "cairn")
	defer db.Close()
	stored := ""
	check.NoError(t, db.QueryRow("SELECT string_agg(platform_id, ' ' ORDER BY platform_id) FROM (SELECT platform_id FROM inbox UNION ALL SELECT platform_id FROM messages) x").Scan(&stored))
	check.Equal(t, "the messages", stored, "m1 m2")
	eventually(t, "the lease is renewed", func() error { return check.ErrorOf(first.Renew(ctx)) })
	check.Len(t, "processes", first.All(), 2)
	check.That(t, first.All()[1].Draining, "what a process has said of itself is lost")
	check.Equal(t, "the epoch", first.claim("terminal:general").Epoch(), talk.Epoch())
	check.NoError(t, check.ErrorOf(db.Exec("UPDATE processes SET lease_until = 0 WHERE id = $1", second.ID())))
	first.endsOthers(1)
	first.claim("terminal:other")
	check.Error(t, check.ErrorOf(former.Inbox().Deliver(ctx, said(3, "I was replaced"))), store.ErrOwned)
}

// eventually tries something again until it succeeds, as after the loss of connections.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	err := errors.New("not tried")
	for end := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err = try()
	}
	check.That(t, err == nil, "%s: %v", what, err)
}
