// Filters of memories, and statistics of those that a filter selects.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
	"cairn/store"
)

// Filter chooses memories. What reads by one returns ErrNotFound if there is no such conversation.
type Filter struct {
	Conversation string    // name; "": all conversations
	Query        string    // words to search for; "": all memories, newest first
	Asker        string    // the name of the person who asks: "I" in Query refers to them; "": unknown
	Kind         string    // "": all kinds
	State        string    // one of States; "": active
	About        string    // whom it is about, by name or platform id, ignoring case; if no one else, who said it; "": anyone
	Since        time.Time // said at or after; zero: any time
	Until        time.Time // said before; zero: any time
	Sort         string    // one of Sorts; "": "said", or with a Query best first
	Limit        int       // maximum number of results; 0 or less: no limit
	Offset       int       // number of results to skip

	in    scope    // the conversations to search
	about []string // the stored names that About matches
}

// orders are the SQL of the sort orders; ties are broken by newer first.
var orders = map[string]string{
	"said":       "said_at DESC, id DESC",
	"saved":      "saved_at DESC, id DESC",
	"importance": "importance DESC, said_at DESC, id DESC",
	"confirmed":  "confirmed DESC, said_at DESC, id DESC",
	"expires":    "expires_at IS NULL, expires_at, said_at DESC, id DESC", // the next to end first, those without an end last
	"id":         "id",
}

// Sorts are the valid values of Filter.Sort.
var Sorts = slices.Sorted(maps.Keys(orders))

// States are the valid values of Filter.State. Active memories are recalled; expired ones have ended; current ones are both.
// Superseded, forgotten and replaced memories (replaced by what a worker saved) are history.
var States = []string{"active", "expired", "current", "superseded", "forgotten", "replaced", "all"}

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

// hasEnded is the SQL condition that a memory has ended, at the time in its argument.
const hasEnded = "(NOT pinned AND expires_at IS NOT NULL AND expires_at <= ?)"

// where returns the SQL condition that a memory matches the filter, apart from the query, and its arguments.
func (f Filter) where() (condition string, args []any) {
	within, args := f.in.where("reach")
	conditions := []string{within}
	add := func(condition string, with ...any) {
		conditions = append(conditions, condition)
		args = append(args, with...)
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
		add(`(iif(about = '', speaker, about) IN (SELECT value FROM json_each(?))
			OR EXISTS (SELECT 1 FROM memory_people WHERE memory = id AND role = 'about' AND author_id = ?))`, jsonList(f.about), f.About)
	}
	return strings.Join(conditions, " AND "), args
}

// view reads what f selects on one snapshot: do gets f with its scope, and with the names that About matches, because SQLite
// ignores the case of ASCII letters only.
func (ms Memories) view(ctx context.Context, tried string, f Filter, do func(tx *store.Tx, f Filter)) error {
	if err := f.check(); err != nil {
		return err
	}
	if ms.c == nil && f.Conversation != "" {
		c, err := ms.store.Find(ctx, f.Conversation)
		if err != nil {
			return err
		}
		f.in = only(c.ID())
	}
	err := ms.store.View(ctx, func(tx *store.Tx) {
		if ms.c != nil {
			f.in = scopeOf(ms.c, tx)
		}
		if f.About != "" {
			names := store.Values[string](tx, "SELECT DISTINCT iif(about = '', speaker, about) FROM memories")
			f.about = slices.DeleteFunc(names, func(name string) bool { return !strings.EqualFold(name, f.About) })
		}
		do(tx, f)
	})
	return store.Fail(tried, err)
}

// List returns the memories that match f, and how many there are without Limit and Offset. With a query they are ranked by its
// words, then by importance, then newer first, unless f.Sort is set. A conversation lists what it recalls: its own memories
// and those of its scope; it ignores f.Conversation.
func (ms Memories) List(ctx context.Context, f Filter) (found []Memory, total int, err error) {
	err = ms.view(ctx, "search memories", f, func(tx *store.Tx, f Filter) {
		if f.Limit <= 0 {
			f.Limit = math.MaxInt
		}
		if strings.TrimSpace(f.Query) == "" {
			chosen, args := f.where()
			total = store.Get[int](tx, "SELECT count(*) FROM memories WHERE "+chosen, args...)
			found = ReadMemories(tx, "WHERE "+chosen+" ORDER BY "+orders[cmp.Or(f.Sort, "said")]+" LIMIT ? OFFSET ?", append(args, f.Limit, f.Offset)...)
			return
		}
		chosen := ranked(tx, f)
		total = len(chosen)
		chosen = chosen[min(max(f.Offset, 0), total):]
		for _, w := range chosen[:min(f.Limit, len(chosen))] {
			m := readMemory(tx, w.id)
			m.Score = w.Total
			m.Parts = w.Parts
			found = append(found, m)
		}
	})
	return found, total, err
}

// Completed returns the conversation's own current memories that match what a user is still typing: each word begins a word of
// the memory. It returns at most limit, the newest first.
func (ms Memories) Completed(ctx context.Context, typed string, limit int) ([]Memory, error) {
	where := "WHERE m.conversation = ? AND m.state = 'active'"
	args := []any{ms.c.ID()}
	const most = 20 // words that are compared
	all := strings.Fields(words.Fold(typed))
	for _, word := range all[:min(len(all), most)] {
		where += " AND instr(' ' || m.folded, ?) > 0"
		args = append(args, " "+word)
	}
	return store.View(ctx, ms.c, "complete a memory", func(tx *store.Tx) []Memory {
		return ReadMemories(tx, where+" ORDER BY m.id DESC LIMIT ?", append(args, limit)...)
	})
}

// Count is the number of memories with a common property.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Statistics counts memories. Lists are sorted by count, months by time.
type Statistics struct {
	Total   int     `json:"total"`
	Pinned  int     `json:"pinned"`
	Kind    []Count `json:"kind"`
	State   []Count `json:"state"`
	Person  []Count `json:"person"` // whom they are about; if no one else, who said them
	Channel []Count `json:"channel"`
	Month   []Count `json:"month"`  // "2026-11", when they were said, in the local zone
	Origin  []Count `json:"origin"` // who saved them: worker, extractive, assistant, person
}

// Statistics counts the memories that f selects. It ignores Query, Sort, Limit and Offset.
func (ms Memories) Statistics(ctx context.Context, f Filter) (counted Statistics, err error) {
	var all []Memory
	err = ms.view(ctx, "count memories", f, func(tx *store.Tx, f Filter) {
		where, args := f.where()
		all = ReadMemories(tx, "WHERE "+where, args...)
	})
	for list, name := range map[*[]Count]func(Memory) string{
		&counted.Kind:    func(m Memory) string { return m.Kind },
		&counted.State:   func(m Memory) string { return m.State },
		&counted.Person:  func(m Memory) string { return cmp.Or(m.About, m.Speaker) },
		&counted.Channel: func(m Memory) string { return m.Conversation },
		&counted.Month:   func(m Memory) string { return m.SaidAt.Local().Format("2006-01") },
		&counted.Origin:  func(m Memory) string { return m.By },
	} {
		n := make(map[string]int)
		for _, m := range all {
			n[name(m)]++
		}
		*list = make([]Count, 0, len(n))
		for name, n := range n {
			*list = append(*list, Count{name, n})
		}
		slices.SortFunc(*list, func(a, b Count) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Name, b.Name)) })
	}
	slices.SortFunc(counted.Month, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range all {
		counted.Total++
		if m.Pinned {
			counted.Pinned++
		}
	}
	return counted, err
}
