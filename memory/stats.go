// Statistics: how many memories there are, of which kind, about whom, and from where.

package memory

import (
	"cmp"
	"context"
	"slices"

	"cairn/store"
)

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
// ErrNotFound: there is no such conversation.
func (ms Memories) Statistics(ctx context.Context, f Filter) (counted Statistics, err error) {
	var all []Memory
	err = ms.view(ctx, "count memories", f, func(tx *store.Tx, f Filter) error {
		where, args := f.where()
		all = ReadMemories(tx, "WHERE "+where, args...)
		return nil
	})
	kind, state, person, channel, month, origin := tally{}, tally{}, tally{}, tally{}, tally{}, tally{}
	for _, m := range all {
		counted.Total++
		if m.Pinned {
			counted.Pinned++
		}
		kind[m.Kind]++
		state[m.State]++
		person[cmp.Or(m.About, m.Speaker)]++
		channel[m.Conversation]++
		month[m.SaidAt.Local().Format("2006-01")]++
		origin[m.By]++
	}
	counted.Kind, counted.State, counted.Person, counted.Channel, counted.Origin = kind.sorted(), state.sorted(), person.sorted(), channel.sorted(), origin.sorted()
	counted.Month = month.sorted()
	slices.SortFunc(counted.Month, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	return counted, err
}

// tally counts names.
type tally map[string]int

// sorted returns the counts, the highest first.
func (t tally) sorted() []Count {
	list := make([]Count, 0, len(t))
	for name, n := range t {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Name, b.Name)) })
	return list
}
