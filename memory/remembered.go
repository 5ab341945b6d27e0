// Remembered: the memories that a filter selects, ranked if it has a query.

package memory

import (
	"cmp"
	"database/sql"
	"maps"
	"math"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory/search"
	"cairn/store"
)

// byImportance is the most that importance adds, as a share of the score of the words: words come
// first.
const byImportance = 0.2

// weighed is a memory with its score.
type weighed struct {
	id int64
	search.Score
}

// ranked selects memories by a query, in the order of f.Sort, or best first; of equally good ones the
// newer first.
func ranked(tx *store.Tx, f Filter) []weighed {
	x := termIndex{tx: tx, in: f.in, table: "memory_terms", document: "memory", spoken: "true"}
	x.within, x.args = f.in.where("(SELECT reach FROM memories WHERE id = memory)") // what others keep to themselves must not even reveal the spelling of a word
	fitting, args := Filter{State: "current", in: f.in}.where()
	x.size = store.Get[int](tx, "SELECT count(*) FROM memories WHERE "+fitting, args...)
	query := search.Parse(f.Query, f.Asker, time.Now())
	scores := query.Scores(x)
	fitting, args = f.where()
	now := time.Now()
	chosen := store.List(tx, func(rows *sql.Rows, m *weighed) error {
		var is Memory
		var saidAt int64
		err := rows.Scan(&m.id, &saidAt, &is.Importance, &is.Kind, &is.Speaker, &is.About, &is.Pinned, &is.Confirmed)
		m.Add("words", scores[m.id])
		if query.IsAbout(is.About, is.Speaker) {
			m.Add("speaker", m.Total*(search.BySpeaker-1))
		}
		is.SaidAt = store.At(saidAt)
		m.Add("importance", m.Total*byImportance*is.Importance)
		m.Add("age", m.Total*byImportance*(is.Decayed(now)-is.Importance)/(1+byImportance*is.Importance))
		return err
	}, "SELECT id, said_at, importance, kind, speaker, about, pinned, confirmed FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND "+fitting+" ORDER BY "+f.order(),
		append([]any{jsonList(slices.Collect(maps.Keys(scores)))}, args...)...)
	if f.Sort == "" {
		slices.SortStableFunc(chosen, func(x, y weighed) int { return cmp.Compare(y.Total, x.Total) })
	}
	return chosen
}

// lasting is the share of its importance that a memory keeps at any age: a question may be about
// something not mentioned for years.
const lasting = 0.25

// Decayed returns the importance of the memory at a time, at most Importance. It decreases with the
// time since the memory was said: half of what can fade is gone after the half-life of its kind,
// which grows with each doubling of Confirmed. Identities and pinned memories do not fade. Of two
// memories that differ only in importance, the more important one always ranks higher. Reading a
// memory does not change it.
func (m Memory) Decayed(now time.Time) float64 {
	i, err := kindIndex(m.Kind)
	if err != nil || m.Pinned {
		return m.Importance
	}
	halfLife := float64(summarize.MemoryKinds[i].HalfLife) * (1 + math.Log2(float64(max(m.Confirmed, 1))))
	if halfLife == 0 {
		return m.Importance
	}
	age := max(now.Sub(m.SaidAt).Hours()/24, 0)
	return m.Importance * (lasting + (1-lasting)*math.Exp2(-age/halfLife))
}
