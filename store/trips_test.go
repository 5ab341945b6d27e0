package store_test

import (
	"errors"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// A statement that must change a row fails its transaction if it changes none. PostgreSQL finds that out in the round trip of the COMMIT.
func TestRequiredChanges(t *testing.T) {
	const none = "UPDATE conversations SET label = 'x' WHERE id < 0"
	const one = "UPDATE conversations SET label = 'x'"
	missing := errors.New("missing")
	later := errors.New("later")
	c := newTalk(t)
	before := dump(t, c.Store())
	for name, f := range map[string]func(tx *store.Tx){
		"alone":                  func(tx *store.Tx) { tx.Require(missing, none) },
		"after another":          func(tx *store.Tx) { tx.Queue(one); tx.Require(missing, none) },
		"before another":         func(tx *store.Tx) { tx.Require(missing, none); tx.Queue(one) },
		"before another failure": func(tx *store.Tx) { tx.Require(missing, none); tx.Require(later, none) },
		"before a wrong one":     func(tx *store.Tx) { tx.Require(missing, none); tx.Queue("UPDATE conversations SET name = NULL") },
		"before a read":          func(tx *store.Tx) { tx.Require(missing, none); store.Get[int](tx, "SELECT 1") },
		"before a count":         func(tx *store.Tx) { tx.Require(missing, none); tx.Do(one) },
		"counted at its end":     func(tx *store.Tx) { tx.Queue(one); tx.Require(missing, none); tx.Wrote() },
	} {
		t.Run(name, func(t *testing.T) {
			check.Error(t, c.Store().Update(ctx, f), missing)
			check.Equal(t, "afterwards", dump(t, c.Store()), before)
		})
	}
	check.NoError(t, c.Store().Update(ctx, func(tx *store.Tx) {
		tx.Require(missing, one)
		check.That(t, tx.Wrote() > 0, "the change is not counted")
	}))
	check.Equal(t, "label", number(t, c.Store(), "SELECT count(*) FROM conversations WHERE label = 'x'"), 1)
}

// On a server in another building each wait costs a millisecond.
func TestTripsOfATurn(t *testing.T) {
	if !storetest.OnPostgres {
		t.Skip("SQLite has no server")
	}
	c := newTalk(t)
	turn(t, c, 1)
	before := check.Must(c.Store().Trips())(t)
	turn(t, c, 2)
	check.Equal(t, "round trips", check.Must(c.Store().Trips())(t)-before, int64(12))
}
