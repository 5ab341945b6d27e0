// What people have used today: the tokens of the answers that they asked for, which a budget for each person counts.

package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// addPersonUsage adds the usage of an answer to that of the people who asked for it, in equal parts.
func addPersonUsage(tx *Tx, u Usage) {
	people := slices.Sorted(slices.Values(u.By)) // all transactions lock their rows in this order
	for i, id := range people {
		part := func(tokens int64) int64 {
			n := int64(len(people))
			share := tokens / n
			if i == 0 {
				share += tokens % n
			}
			return share
		}
		tx.do(`INSERT INTO person_usage (author_id, day, model, long, input, cached, written, output, told)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce((SELECT max(told) FROM person_usage WHERE author_id = ?1 AND day = ?2), 0))
			ON CONFLICT (author_id, day, model, long) DO UPDATE SET input = person_usage.input + excluded.input,
			cached = person_usage.cached + excluded.cached, written = person_usage.written + excluded.written, output = person_usage.output + excluded.output`,
			id, u.Day, u.Model, u.Long, part(u.Input), part(u.Cached), part(u.Written), part(u.Output))
	}
}

// SpentBy returns what people have used on a day, by their platform ids: a sum for each model and length.
func (ls Limits) SpentBy(ctx context.Context, day string, people []string) (map[string][]Usage, error) {
	type row struct {
		id   string
		used Usage
	}
	all, err := selectAlone(ctx, ls.store, func(rows *sql.Rows, r *row) error {
		return rows.Scan(&r.id, &r.used.Model, &r.used.Long, &r.used.Input, &r.used.Cached, &r.used.Written, &r.used.Output)
	}, `SELECT author_id, model, long, input, cached, written, output FROM person_usage
		WHERE day = ? AND author_id IN (SELECT value FROM json_each(?)) ORDER BY author_id, model, long`, day, listOf(people))
	used := make(map[string][]Usage)
	for _, r := range all {
		r.used.Day = day
		used[r.id] = append(used[r.id], r.used)
	}
	return used, Fail("read what people have used", err)
}

// errTold rolls back a transaction that changes nothing.
var errTold = errors.New("the person knows")

// Tell records that a person knows how much of a day's budget is spent, and reports whether that is new, in all processes.
func (ls Limits) Tell(ctx context.Context, day, person string) (first bool, err error) {
	err = ls.store.beside(ctx, func(tx *Tx) {
		tx.require(errTold, "UPDATE person_usage SET told = 1 WHERE author_id = ? AND day = ? AND told = 0", person, day)
	})
	if errors.Is(err, errTold) {
		return false, nil
	}
	return err == nil, Fail("note what a person knows", err)
}

// sweepPeople deletes what people have used before a day.
func (s *Store) sweepPeople(ctx context.Context, day string) error {
	return Fail("delete what people have used", s.beside(ctx, func(tx *Tx) { tx.do("DELETE FROM person_usage WHERE day < ?", day) }))
}

// Askers returns the platform ids of the people who asked for a turn: the authors of its addressed messages. Who asked for a task, or
// wrote the message that set it off, asked for its turns and for those that its result demands.
func (turns Turns) Askers(ctx context.Context, turn int64) ([]string, error) {
	return View(ctx, turns.c, "look for who asked", func(tx *Tx) (people []string) {
		scan := func(rows *sql.Rows, id *string) error { return rows.Scan(id) }
		if turns.c.IsTask() {
			people = listRows(tx, scan, "SELECT "+asked+" FROM tasks t WHERE t.id = ?", turns.c.id)
		} else {
			people = listRows(tx, scan, `SELECT CASE WHEN k.id IS NULL THEN m.author_id ELSE `+asked+` END
				FROM messages m LEFT JOIN conversations k ON k.name = m.author_id LEFT JOIN tasks t ON t.id = k.id
				WHERE m.id BETWEEN ? AND ? AND m.turn = ? AND m.role = 'user' AND m.addressed = 1 ORDER BY m.id`, append(turns.rangeFrom(turn), turn)...)
		}
		people = slices.DeleteFunc(people, func(id string) bool { return id == "" }) // it was deleted
		slices.Sort(people)
		return slices.Compact(people)
	})
}

func (turns Turns) rangeFrom(turn int64) []any {
	low, high := turns.c.rowRange(turn, MaxSeq)
	return []any{low, high}
}

// asked is who asked for the task t, see tasks.chain: the author of a message, or of a command.
const asked = `coalesce((SELECT o.author_id FROM messages o WHERE o.id = t.chain), (SELECT o.author FROM tasks o WHERE o.id = t.chain), '')`
