// Statistics: how many memories there are, of which kind, about whom, and from where.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

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
	kind, state, person, channel, month, origin := tally{}, tally{}, tally{}, tally{}, tally{}, tally{}
	err = ms.view(ctx, "count memories", f, func(tx *store.Tx, f Filter) error {
		where, args := f.where()
		return store.Each(tx, func(rows *sql.Rows) error {
			var is struct{ kind, state, person, channel, origin string }
			var pinned, saidAt int64
			err := rows.Scan(&is.kind, &is.state, &is.person, &is.channel, &is.origin, &pinned, &saidAt)
			counted.Total++
			counted.Pinned += int(pinned)
			kind[is.kind]++
			state[is.state]++
			person[is.person]++
			channel[is.channel]++
			origin[is.origin]++
			month[store.At(saidAt).In(time.Local).Format("2006-01")]++
			return err
		}, "SELECT kind, iif(state = 'active' AND "+hasEnded+`, 'expired', state), iif(about = '', speaker, about),
			(SELECT name FROM conversations WHERE id = conversation), made_by, pinned, said_at FROM memories WHERE `+where,
			append([]any{store.Now()}, args...)...)
	})
	if err != nil {
		return Statistics{}, err
	}
	counted.Kind, counted.State, counted.Person, counted.Channel, counted.Origin = kind.sorted(), state.sorted(), person.sorted(), channel.sorted(), origin.sorted()
	counted.Month = month.sorted()
	slices.SortFunc(counted.Month, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	return counted, nil
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
