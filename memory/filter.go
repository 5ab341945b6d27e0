// Filters of memories.

package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cairn/store"
)

// Filter chooses memories.
type Filter struct {
	Conversation string    // its name; empty: all conversations
	Query        string    // words to search for; empty: all memories, the newest first
	Asker        string    // who asks, by name: "I" in Query means them; empty: unknown
	Kind         string    // empty: all kinds
	State        string    // of States; empty: active
	About        string    // whom it is about, by name or platform id, in any case; who said it, where it is about nobody else; empty: anybody
	Since        time.Time // said then or later; zero: whenever
	Until        time.Time // said before then; zero: whenever
	Sort         string    // of Sorts; empty: "said", with a Query the best first
	Limit        int       // how many at most; 0 or less: all
	Offset       int       // how many of them are left out at the beginning

	about []string // the names that About means, as they are stored
}

// orders are the ways to sort memories; equal ones follow with the newer first.
var orders = map[string]string{
	"said":       "said_at DESC, id DESC",
	"saved":      "saved_at DESC, id DESC",
	"importance": "importance DESC, said_at DESC, id DESC",
	"confirmed":  "confirmed DESC, said_at DESC, id DESC",
	"expires":    "expires_at IS NULL, expires_at, said_at DESC, id DESC", // what ends next first, what has no end last
	"id":         "id",
}

// Sorts are what memories can be sorted by.
var Sorts = slices.Sorted(maps.Keys(orders))

// States are what memories can be asked for by. Active ones are recalled. Expired are
// those that have come to their end; both are current. Superseded, forgotten and
// replaced (by what a worker saved) ones are history.
var States = []string{"active", "expired", "current", "superseded", "forgotten", "replaced", "all"}

// check says what is wrong with a filter.
func (f Filter) check() error {
	if f.State != "" && !slices.Contains(States, f.State) {
		return fmt.Errorf("there is no state %q: use one of %s", f.State, strings.Join(States, ", "))
	}
	if f.Sort != "" && orders[f.Sort] == "" {
		return fmt.Errorf("memories cannot be sorted by %q: use one of %s", f.Sort, strings.Join(Sorts, ", "))
	}
	if f.Kind != "" {
		if _, err := kindIndex(f.Kind); err != nil {
			return err
		}
	}
	return nil
}

// hasEnded is the condition that a memory has come to its end, at the time that is its argument.
const hasEnded = "(NOT pinned AND expires_at IS NOT NULL AND expires_at <= ?)"

// where is the condition that a row of memories is chosen, apart from the query, and
// its arguments.
func (f Filter) where(in scope) (condition string, args []any) {
	within, args := in.where()
	conditions := []string{within}
	add := func(condition string, with ...any) {
		conditions = append(conditions, condition)
		args = append(args, with...)
	}
	if shared, with := in.shares("reach"); shared != "" {
		add(shared, with...)
	}
	switch f.State {
	case "", "active":
		add("state = 'active' AND NOT "+hasEnded, store.Now())
	case "expired":
		add("state = 'active' AND "+hasEnded, store.Now())
	case "current":
		add("state = 'active'")
	case "all":
	default:
		add("state = ?", f.State)
	}
	if f.Kind != "" {
		add("kind = ?", f.Kind)
	}
	if !f.Since.IsZero() {
		add("said_at >= ?", f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		add("said_at < ?", f.Until.UnixMilli())
	}
	if f.About != "" {
		names, _ := json.Marshal(f.about) // names can always be written
		add(`(iif(about = '', speaker, about) IN (SELECT value FROM json_each(?))
			OR EXISTS (SELECT 1 FROM memory_people WHERE memory = memories.id AND role = 'about' AND author_id = ?))`, string(names), f.About)
	}
	return strings.Join(conditions, " AND "), args
}

// named returns f with the names that About means. SQLite compares letters of ASCII alone
// without case.
func (f Filter) named(tx *store.Tx) (Filter, error) {
	if f.About == "" {
		return f, nil
	}
	f.about = []string{}
	err := store.Each(tx, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if strings.EqualFold(name, f.About) {
			f.about = append(f.about, name)
		}
		return err
	}, "SELECT DISTINCT iif(about = '', speaker, about) FROM memories")
	return f, err
}

// List returns the memories that f chooses, and how many there are without
// Limit and Offset. With a query they are ranked by its words, then by importance,
// then the newer first, unless f says by what they are sorted. ErrNotFound: there is no such conversation.
func (am AllMemories) List(ctx context.Context, f Filter) (found []Memory, total int, err error) {
	in := everywhere
	if f.Conversation != "" {
		c, err := am.store.Find(ctx, f.Conversation)
		if err != nil {
			return nil, 0, err
		}
		in = only(c.ID())
	}
	found, total, err = findMemories(am.store, ctx, f, func(*store.Tx) (scope, error) { return in, nil })
	if err != nil {
		return nil, 0, fmt.Errorf("search memories: %w", err)
	}
	return found, total, nil
}

// List is like that of the store, for what the conversation recalls: its own
// memories and those of its scope. f.Conversation does not count.
func (ms Memories) List(ctx context.Context, f Filter) (found []Memory, total int, err error) {
	found, total, err = findMemories(ms.c.Store(), ctx, f, func(tx *store.Tx) (scope, error) { return scopeOf(ms.c, tx) })
	if err != nil {
		return nil, 0, ms.c.Fail("search memories", err)
	}
	return found, total, nil
}

// Search returns the memories that the conversation recalls and that match query, best first, at
// most limit; with an empty query the newest.
func (ms Memories) Search(ctx context.Context, query string, limit int) ([]Memory, error) {
	if limit <= 0 {
		return nil, nil
	}
	found, _, err := ms.List(ctx, Filter{Query: query, Limit: limit})
	return found, err
}

// findMemories searches in a scope, which is found in the same transaction.
func findMemories(s *store.Store, ctx context.Context, f Filter, within func(*store.Tx) (scope, error)) (found []Memory, total int, err error) {
	if err := f.check(); err != nil {
		return nil, 0, err
	}
	err = s.View(ctx, func(tx *store.Tx) error {
		in, err := within(tx)
		if err != nil {
			return err
		}
		if f, err = f.named(tx); err != nil {
			return err
		}
		choose := newest
		if strings.TrimSpace(f.Query) != "" {
			choose = ranked
		}
		chosen, err := choose(tx, f, in)
		if err != nil {
			return err
		}
		if chosen, err = f.sorted(tx, chosen); err != nil {
			return err
		}
		total = len(chosen)
		chosen = chosen[min(max(f.Offset, 0), total):]
		if f.Limit > 0 {
			chosen = chosen[:min(f.Limit, len(chosen))]
		}
		for _, w := range chosen {
			m, err := readMemory(tx, w.id)
			if err != nil {
				return err
			}
			m.Score, m.Parts = w.Total, w.Parts
			found = append(found, m)
		}
		return nil
	})
	return found, total, err
}

// sorted sorts the results of a query as f says.
func (f Filter) sorted(tx *store.Tx, found []weighed) ([]weighed, error) {
	if f.Sort == "" || strings.TrimSpace(f.Query) == "" {
		return found, nil
	}
	place := make(map[int64]int, len(found))
	for i, one := range found {
		place[one.id] = i
	}
	order := make([]weighed, 0, len(found))
	ids, err := json.Marshal(slices.Collect(maps.Keys(place)))
	if err != nil {
		return nil, err
	}
	err = store.Each(tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		order = append(order, found[place[id]])
		return err
	}, "SELECT id FROM memories WHERE id IN (SELECT value FROM json_each(?)) ORDER BY "+orders[f.Sort], string(ids))
	return order, err
}
