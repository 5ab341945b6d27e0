// Limits that the processes of a bot share: what they have counted, and for how much longer it counts, by the clock of the database.

package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"
)

// Limits are the counters that several processes share. One process counts in memory.
type Limits struct{ store *Store }

// Counted is what a limit has counted.
type Counted struct {
	N    int
	Left time.Duration // until it no longer counts
}

// errNoTurn rolls a transaction back that counts nothing.
var errNoTurn = errors.New("nobody has a turn left")

// TakeTurn counts a turn for each of the people who had fewer than most within a span, in all processes, and reports whether there is one.
// It is one statement, and waits for the server once. Two processes that count at the same time do not see each other's turn, so there may
// be one more than most for each other process.
func (ls Limits) TakeTurn(ctx context.Context, people []string, most int, span time.Duration) (ok bool, err error) {
	err = ls.store.Update(ctx, func(tx *Tx) { // one at a time in this process
		tx.require(errNoTurn, `INSERT INTO taken_turns (author_id, until, n) SELECT p.value, `+clock+` + ?1, 1 FROM json_each(?2) p
			WHERE (SELECT coalesce(sum(n), 0) FROM taken_turns WHERE author_id = p.value AND until > `+clock+`) < ?3
			ON CONFLICT (author_id, until) DO UPDATE SET n = taken_turns.n + 1`, span.Milliseconds(), listOf(people), most)
	})
	if errors.Is(err, errNoTurn) {
		return false, nil
	}
	return err == nil, Fail("count a turn", err)
}

// AddCalls adds model calls of conversations of people, by their names. They count for up to a minute longer, so that a conversation has
// at most one row for each minute.
func (ls Limits) AddCalls(ctx context.Context, made map[string]Counted) error {
	return Fail("count model calls", ls.store.beside(ctx, func(tx *Tx) {
		for _, name := range slices.Sorted(maps.Keys(made)) {
			tx.do(`INSERT INTO made_calls (conversation, until, n) SELECT id, (`+clock+` + ?) / 60000 * 60000 + 60000, CAST(? AS BIGINT)
				FROM conversations WHERE name = ?
				ON CONFLICT (conversation, until) DO UPDATE SET n = made_calls.n + excluded.n`, made[name].Left.Milliseconds(), made[name].N, name)
		}
	}))
}

// Calls returns the model calls of a conversation of people that still count, those that last longest at the end.
func (ls Limits) Calls(ctx context.Context, name string) ([]Counted, error) {
	made, err := selectAlone(ctx, ls.store, func(rows *sql.Rows, c *Counted) error {
		left := int64(0)
		err := rows.Scan(&c.N, &left)
		c.Left = time.Duration(left) * time.Millisecond
		return err
	}, `SELECT n, until - `+clock+` FROM made_calls WHERE conversation = (SELECT id FROM conversations WHERE name = ?) AND until > `+clock+` ORDER BY until`, name)
	return made, Fail("read the model calls of "+name, err)
}

// Sweep deletes what no longer counts, and requests that nobody waits for any more.
func (ls Limits) Sweep(ctx context.Context) error {
	return Fail("delete what no longer counts", ls.store.beside(ctx, func(tx *Tx) {
		tx.do("DELETE FROM taken_turns WHERE until <= " + clock)
		tx.do("DELETE FROM made_calls WHERE until <= " + clock)
		tx.do("DELETE FROM requests WHERE asked_at < "+clock+" - ?", requestsStand.Milliseconds())
	}))
}

// Spent returns the use of models since a day, inclusive, over all conversations and purposes: a sum for each day, model and length.
func (ls Limits) Spent(ctx context.Context, since string) ([]Usage, error) {
	all, err := selectAlone(ctx, ls.store, func(rows *sql.Rows, u *Usage) error {
		return rows.Scan(&u.Day, &u.Model, &u.Long, &u.Requests, &u.Input, &u.Cached, &u.Written, &u.Output)
	}, `SELECT day, model, long, CAST(sum(requests) AS BIGINT), CAST(sum(input) AS BIGINT), CAST(sum(cached) AS BIGINT), CAST(sum(written) AS BIGINT),
		CAST(sum(output) AS BIGINT) FROM usage WHERE day >= ? GROUP BY day, model, long ORDER BY day, model, long`, since)
	return all, Fail("read what models were used for", err)
}
