package store_test

import (
	"errors"
	"sync"
	"testing"

	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
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

// tripsOf returns how often a store waits for PostgreSQL while f runs.
func tripsOf(t *testing.T, s *store.Store, f func()) int64 {
	t.Helper()
	if !storetest.OnPostgres {
		t.Skip("SQLite has no server")
	}
	before := check.Must(s.Trips())(t)
	f()
	return check.Must(s.Trips())(t) - before
}

// On a server in another building each wait costs a millisecond.
func TestTripsOfATurn(t *testing.T) {
	c := newTalk(t)
	turn(t, c, 1) // the first message looks for a conversation above
	check.Equal(t, "round trips", tripsOf(t, c.Store(), func() { turn(t, c, 2) }), 12)
}

// A question waits as often for three words and five answers as for one.
func TestTripsOfAQuestion(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "the boat is blue"), said(2, "a harbour for boats"), said(3, "the harbour is far"), said(4, "blue paint"), said(5, "boat, harbour, paint"))
	ask := func(text string) int64 {
		return tripsOf(t, c.Store(), func() { storetest.Recalled(t, c, text) })
	}
	check.Equal(t, "round trips", ask("blue boat harbour paint"), 7)
	check.That(t, ask("blue boat harbour paint") == ask("blue paint"), "another question waits more often")
}

// An answer waits as often for what its context quotes, however much that is.
func TestTripsOfQuotes(t *testing.T) {
	c := newTalk(t)
	first := storetest.Keep(t, c, "Ann", "Ann plays the theremin.").ID
	second := storetest.Keep(t, c, "Ann", "Ann rows a boat.").ID
	answer := func(n int, quotes llm.Quotes) int64 {
		turn := deliver(t, c, asking(n, "what is new?"))[0].Turn
		o := store.Outcome{Turn: turn, Version: storetest.Version(t, c), Context: transcript.Context{Seq: turn, Text: "recalled", Quotes: quotes}}
		return tripsOf(t, c.Store(), func() {
			check.That(t, check.Must(c.Turns().Finish(ctx, o))(t), "the context was not stored")
		})
	}
	answer(1, llm.Quotes{})
	check.Equal(t, "with one quote", answer(2, llm.Quotes{Messages: []int64{1}}), 3)
	check.Equal(t, "with five", answer(3, llm.Quotes{Messages: []int64{1, 2}, Memories: []int64{first, second}, Elsewhere: []llm.Elsewhere{{Number: c.ID()<<32 | 1}}}), 3)
}

// A read that has returned has also ended on the server, though nobody has waited for that, and its connection reads again.
func TestEndedReads(t *testing.T) {
	if !storetest.OnPostgres {
		t.Skip("SQLite has no server")
	}
	c := newTalk(t)
	one := func(tx *store.Tx) { check.Equal(t, "read", store.Get[int](tx, "SELECT 1"), 1) }
	for range 3 {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { check.NoError(t, c.Store().View(ctx, one)) })
		}
		all.Wait()
		check.That(t, check.Soon(func() bool {
			return number(t, c.Store(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'") == 0
		}), "a read is still open")
	}
	check.NoError(t, c.Store().View(ctx, func(*store.Tx) {}))
	missing := c.Store().View(ctx, func(tx *store.Tx) { tx.Require(errors.New("missing"), "UPDATE conversations SET label = 'x'") })
	check.That(t, missing != nil, "a read wrote")
}
