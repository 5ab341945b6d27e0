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
		if counted.Total++; m.Pinned {
			counted.Pinned++
		}
	}
	return counted, err
}
