// Copying a whole store to another database: from SQLite to PostgreSQL, back, or between two of a kind.

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Errors of copies, and of databases that are the target of one.
var (
	ErrUnfinished = errors.New("it is an unfinished copy")
	ErrNotEmpty   = errors.New("it is not empty")
)

// marker is a table that a database has while it is an unfinished copy. Nothing but the copy opens such a database.
const marker = "unfinished_copy"

// wantFinished fails the transaction if the database is an unfinished copy.
func wantFinished(tx *Tx, marked bool) {
	if marked {
		from := getValue[string](tx, "SELECT source FROM "+marker)
		tx.Fail(fmt.Errorf("%w of %s: run the same `cairn copy` again, or delete it and copy anew", ErrUnfinished, from))
	}
}

// CopyProgress says how far a copy is.
type CopyProgress struct {
	Compared    bool // the rows are copied; Done counts those that are compared
	Done, Total int64
}

// CopyResult is what was copied.
type CopyResult struct {
	From   string        `json:"from"` // where the databases are, for people
	To     string        `json:"to"`
	Rows   int64         `json:"rows"`
	Tables []CopiedTable `json:"tables"`
}

// CopiedTable is what both databases have of a table after a copy.
type CopiedTable struct {
	Table  string `json:"table"`
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"` // the same if the rows are
}

// ofProcesses are the tables of which no rows are copied: they are about processes that run on the source.
var ofProcesses = []string{"processes", "shards", "events", "requests", "taken_turns", "made_calls"}

// copier copies what source has at one moment.
type copier struct {
	ctx            context.Context
	source, target *Store
	plan           []copiedTable // tables whose rows are copied
	all            []copiedTable
	state          CopyProgress
	show           func(CopyProgress)
}

// Copy copies all rows of a store to another one, which it makes; the other one may exist if it is empty, or an unfinished copy of the
// same store, which it finishes. It compares all rows. Both stores must be in use by nobody, and the source is left as it is. Errors:
// those of Open, ErrNotEmpty, and ErrUnfinished if the source itself is an unfinished copy, or the target one of another store.
func Copy(ctx context.Context, from, to Options, show func(CopyProgress)) (result CopyResult, err error) {
	from.copying = true
	from.Existing = true
	to.copying = true
	plan, err := copyPlan(ctx)
	if err != nil {
		return result, Fail("read the schema", err)
	}
	source, err := Open(ctx, from)
	if err != nil {
		return result, Fail("copy from", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := Open(ctx, to)
	if errors.Is(err, errOlder) {
		err = fmt.Errorf("%w: %w", ErrNotEmpty, err)
	}
	if err != nil {
		return result, Fail("copy to", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, s := range []*Store{source, target} {
		leave, err := s.Processes().alone(ctx, cancel)
		if err != nil {
			return result, err
		}
		defer leave()
	}
	c := &copier{ctx: ctx, source: source, target: target, all: plan, show: show}
	c.plan = slices.DeleteFunc(slices.Clone(plan), func(t copiedTable) bool { return slices.Contains(ofProcesses, t.name) })
	result.From = source.engine.place()
	result.To = target.engine.place()
	err = source.View(ctx, func(in *Tx) {
		c.begin(in)
		for _, t := range c.plan {
			c.copyRows(in, t)
		}
		for _, t := range c.plan {
			c.refer(in, t)
		}
		c.copyHighest(in)
		result.Rows = c.state.Total
		result.Tables = c.compare(in)
		c.write(in, func(out *Tx) { out.do("DROP TABLE " + marker) })
	})
	if why := context.Cause(ctx); errors.Is(why, ErrEnded) {
		err = why
	}
	return result, Fail("copy "+result.From+" to "+result.To, err)
}

// write changes the target in a transaction.
func (c *copier) write(in *Tx, do func(out *Tx)) {
	if in.live() {
		in.Fail(c.target.Update(c.ctx, do))
	}
}

// begin counts the rows of the source, and marks the target.
func (c *copier) begin(in *Tx) {
	wantFinished(in, c.source.engine.has(in, marker))
	for _, t := range c.plan {
		c.state.Total += getValue[int64](in, "SELECT count(*) FROM "+t.name)
	}
	from := c.source.engine.place()
	c.write(in, func(out *Tx) {
		if c.target.engine.has(out, marker) {
			if getValue[string](out, "SELECT source FROM "+marker) != from {
				wantFinished(out, true)
			}
			return
		}
		for _, t := range c.plan {
			if exists(out, "SELECT 1 FROM "+t.name) {
				out.Fail(fmt.Errorf("%w: name a database without data, or delete this one", ErrNotEmpty))
			}
		}
		out.changes("CREATE TABLE " + marker + " (source TEXT NOT NULL)") // the next statement needs it
		out.do("INSERT INTO "+marker+" (source) VALUES (?)", from)
	})
}

// progress adds rows to those that are done.
func (c *copier) progress(rows int64) {
	c.state.Done += rows
	c.show(c.state)
}

// copyRows copies the rows of a table that the target lacks. They are copied in the order of their keys, so those that it has are the
// first ones. References to rows of the same table are left out: the others may follow.
func (c *copier) copyRows(in *Tx, t copiedTable) {
	if !in.live() {
		return
	}
	done, key := c.resume(in, t)
	c.progress(done)
	t.each(in, key, func(rows [][]any) {
		for _, row := range rows {
			for _, place := range t.own {
				row[place] = nil
			}
		}
		c.write(in, func(out *Tx) { t.insert(out, rows) })
		c.progress(int64(len(rows)))
	})
}

// resume returns how many rows of a table the target has, and the key of the last of them; nil: none. The transaction fails if those are
// not the first ones of the source.
func (c *copier) resume(in *Tx, t copiedTable) (done int64, key []any) {
	var highest [][]any
	in.Fail(c.target.View(c.ctx, func(out *Tx) {
		done = getValue[int64](out, "SELECT count(*) FROM "+t.name)
		highest = t.read(out, " FROM "+t.name+" ORDER BY "+t.list(t.key, " DESC", ", ")+" LIMIT 1")
	}))
	if done == 0 {
		return 0, nil
	}
	last := t.read(in, " FROM "+t.name+" ORDER BY "+t.keys()+" LIMIT 1 OFFSET ?", done-1)
	if len(last) == 1 {
		key = pick(last[0], t.key)
		makeStorable(last[0])
	}
	if in.live() && (len(last) == 0 || !slices.Equal(pick(last[0], t.key), pick(highest[0], t.key))) {
		in.Fail(fmt.Errorf("the source or the copy has changed since the copy began, in the table %s: delete the copy, and copy anew", t.name))
	}
	return done, key
}

// refer writes the references to rows of the same table.
func (c *copier) refer(in *Tx, t copiedTable) {
	if len(t.own) == 0 {
		return
	}
	set := "UPDATE " + t.name + " SET " + t.list(t.own, " = ?", ", ") + " WHERE " + t.list(t.key, " = ?", " AND ")
	t.each(in, nil, func(rows [][]any) {
		c.write(in, func(out *Tx) {
			for _, row := range rows {
				to := pick(row, t.own)
				if slices.ContainsFunc(to, func(id any) bool { return id != nil }) {
					out.do(set, append(to, pick(row, t.key)...)...)
				}
			}
		})
	})
}

// copyHighest makes the target continue to count where the source does: the ids of deleted rows are not given again, nor those of
// processes that conversations name as their owners.
func (c *copier) copyHighest(in *Tx) {
	for _, t := range c.all {
		if t.counts {
			highest := c.source.engine.highest(in, t.name)
			c.write(in, func(out *Tx) { c.target.engine.setHighest(out, t.name, highest) })
		}
	}
}
