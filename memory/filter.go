// Filters of memories, and statistics of those that a filter selects.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
	"cairn/memory/search"
	"cairn/store"
)

// Filter chooses memories. What reads by one returns ErrNotFound if there is no such conversation.
type Filter struct {
	Conversation string    // name; "": all conversations
	ID           int64     // of the only one; 0: all
	Query        string    // words to search for; "": all memories, newest first
	Asker        string    // the name of the person who asks: "I" in Query refers to them; "": unknown
	AskerID      string    // their platform ID: "me" in About is this person alone; "": unknown
	Kind         string    // "": all kinds
	State        string    // one of States; "": active
	About        string    // whom it is about, as By in Question, by name or platform id; if no one else, who said it; "": anyone
	Since        time.Time // said at or after; zero: any time
	Until        time.Time // said before; zero: any time
	Sort         string    // one of Sorts; "": "said", or with a Query best first
	Limit        int       // maximum number of results; 0 or less: no limit
	Offset       int       // number of results to skip

	asked encoded     // Query
	in    store.Scope // the conversations to search
	about []string    // About, and the stored names that it matches
}

// Sorts are the valid values of Filter.Sort.
var Sorts = store.MemorySorts

// States are the valid values of Filter.State. Active memories are recalled; expired ones have ended; current ones are both. Known ones are
// active, or values that were true until another one took their place or until their own end.
// Superseded, forgotten and replaced memories (replaced by what a worker saved) are history.
var States = []string{"active", "expired", "current", "known", "superseded", "forgotten", "replaced", "all"}

func (f Filter) check() error {
	if f.State != "" && !slices.Contains(States, f.State) {
		return fmt.Errorf("there is no state %q: use one of %s", f.State, strings.Join(States, ", "))
	}
	if f.Sort != "" && !slices.Contains(Sorts, f.Sort) {
		return fmt.Errorf("memories cannot be sorted by %q: use one of %s", f.Sort, strings.Join(Sorts, ", "))
	}
	if f.Kind != "" {
		if _, err := kindIndex(f.Kind); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the part of the filter that chooses rows: all but the query, the order and the page.
func (f Filter) rows() store.MemoryFilter {
	return store.MemoryFilter{ID: f.ID, State: f.State, Kind: f.Kind, Since: f.Since, Until: f.Until, About: f.about}
}

// view reads what f selects on one snapshot: do gets f with its scope, and with the names that About matches.
func (ms Memories) view(ctx context.Context, tried string, f Filter, do func(tx *store.Tx, f Filter)) error {
	if err := f.check(); err != nil {
		return err
	}
	if ms.c == nil && f.Conversation != "" {
		c, err := ms.store.Find(ctx, f.Conversation)
		if err != nil {
			return err
		}
		f.in = store.Scope{Of: c}
	}
	err := ms.store.View(ctx, func(tx *store.Tx) {
		if ms.c != nil {
			f.in = scopeOf(ms.c, tx)
		}
		if f.About != "" {
			f.about = namesOf(f.About, asker{f.Asker, f.AskerID}, tx.Memories().Names())
		}
		do(tx, f)
	})
	return store.Fail(tried, err)
}

// List returns the memories that match f, and how many there are without Limit and Offset. With a query they are ranked by its
// words, then by importance, then newer first, unless f.Sort is set. A conversation lists what it recalls: its own memories
// and those of its scope; it ignores f.Conversation. What a query finds in several conversations is one result.
func (ms Memories) List(ctx context.Context, f Filter) (found []Memory, total int, err error) {
	if ms.c != nil {
		f.asked = encode(ctx, ms.c, search.Parse(f.Query, f.Asker, time.Now()), f.Query, f.Asker)
	}
	err = ms.view(ctx, "search memories", f, func(tx *store.Tx, f Filter) {
		if f.Limit <= 0 {
			f.Limit = math.MaxInt
		}
		if strings.TrimSpace(f.Query) == "" {
			in := tx.MemoriesIn(f.in)
			total = in.Count(f.rows())
			found = memoriesOf(in.Page(f.rows(), f.Sort, f.Limit, f.Offset))
			return
		}
		chosen := once(tx, f, ranked(tx, f))
		total = len(chosen)
		chosen = chosen[min(max(f.Offset, 0), total):]
		found = readRanked(tx, chosen[:min(f.Limit, len(chosen))])
	})
	return found, total, err
}

// Concerning returns the current memories of some conversations that a person said first, or that are about them, newest first: at most limit
// after offset, and how many there are. The caller decides which conversations the person may read.
func Concerning(ctx context.Context, s *store.Store, in []*store.Conversation, person string, limit, offset int) (found []Memory, total int, err error) {
	if person == "" {
		return nil, 0, nil
	}
	rows := store.MemoryFilter{State: "current", Concerns: person}
	err = s.View(ctx, func(tx *store.Tx) {
		all := tx.MemoriesOf(in)
		total = all.Count(rows)
		found = memoriesOf(all.Page(rows, "said", limit, offset))
	})
	return found, total, store.Fail("list the memories that concern a person", err)
}

// Completed returns the conversation's own current memories that match what a user is still typing: each word begins a word of
// the memory. It returns at most limit, the newest first.
func (ms Memories) Completed(ctx context.Context, typed string, limit int) ([]Memory, error) {
	const maxWords = 20 // words that are compared
	all := strings.Fields(words.Fold(typed))
	return store.View(ctx, ms.c, "complete a memory", func(tx *store.Tx) []Memory {
		return memoriesOf(ms.c.Memories(tx).Completed(all[:min(len(all), maxWords)], limit))
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
	var all []store.Memory
	err = ms.view(ctx, "count memories", f, func(tx *store.Tx, f Filter) {
		all = tx.MemoriesIn(f.in).All(f.rows())
	})
	for list, name := range map[*[]Count]func(store.Memory) string{
		&counted.Kind:    func(m store.Memory) string { return m.Kind },
		&counted.State:   func(m store.Memory) string { return m.State },
		&counted.Person:  func(m store.Memory) string { return cmp.Or(m.About, m.Speaker) },
		&counted.Channel: func(m store.Memory) string { return m.Conversation },
		&counted.Month:   func(m store.Memory) string { return m.SaidAt.Local().Format("2006-01") },
		&counted.Origin:  func(m store.Memory) string { return m.By },
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
