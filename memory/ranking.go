// Ranking memories by a question.

package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory/search"
	"cairn/store"
)

// byImportance is the most that importance adds, as a share of the score of the words.
const byImportance = 0.2

// bySuperseded is what a memory loses that was true before another one, as a share of its score.
const bySuperseded = 0.5

// weighed is a memory with its score.
type weighed struct {
	id int64
	search.Score
}

// ranked selects memories by a query, in the order of f.Sort, or best first; of equally good ones the newer first.
func ranked(tx *store.Tx, f Filter) (chosen []weighed) {
	in := tx.MemoriesIn(f.in)
	query := search.Parse(f.Query, f.Asker, time.Now())
	query.Resembles(f.asked.memories(in, f.rows()))
	scores, meaning := query.WithMeaning(query.Scores(in.Index()))
	now := time.Now()
	in.Among(slices.Collect(maps.Keys(scores)), f.rows(), f.Sort, func(m store.Memory) {
		w := weighed{id: m.ID}
		w.Add("words", scores[m.ID])
		w.Add("meaning", meaning[m.ID])
		if query.IsAbout(m.About, m.Speaker) {
			w.Add("speaker", w.Total*(search.BySpeaker-1))
		}
		w.Add("importance", w.Total*byImportance*m.Importance)
		w.Add("age", w.Total*byImportance*(decayed(m, now)-m.Importance)/(1+byImportance*m.Importance))
		if m.State == "superseded" {
			w.Add("superseded", -w.Total*bySuperseded)
		}
		chosen = append(chosen, w)
	})
	if f.Sort == "" {
		slices.SortStableFunc(chosen, func(x, y weighed) int { return cmp.Compare(y.Total, x.Total) })
	}
	return chosen
}

// readRanked reads memories, in their order.
func readRanked(tx *store.Tx, chosen []weighed) (found []Memory) {
	var ids []int64
	for _, w := range chosen {
		ids = append(ids, w.id)
	}
	known := make(map[int64]store.Memory)
	for _, m := range tx.Memories().Those(ids) {
		known[m.ID] = m
	}
	for _, w := range chosen {
		found = append(found, Memory{Memory: known[w.id], Score: w.Total, Parts: w.Parts})
	}
	return found
}

// once leaves one of the results that say the same about the same person in different conversations: the asking conversation's own,
// else the best. Each conversation keeps a row of its own, because one may be closed, erased or stop sharing without the other.
func once(tx *store.Tx, f Filter, chosen []weighed) []weighed {
	if f.in.Of == nil {
		return chosen // the owner sees every row
	}
	var ids []int64
	for _, w := range chosen {
		ids = append(ids, w.id)
	}
	rows := map[int64]store.Memory{}
	for _, m := range tx.MemoriesIn(f.in).SaidElsewhere(ids) {
		rows[m.ID] = m
	}
	kept := map[string]store.Memory{} // by what is said about whom
	dropped := map[int64]bool{}
	for _, w := range chosen {
		m, elsewhere := rows[w.id]
		if !elsewhere {
			continue
		}
		key := strings.Join(append(store.FactWords(m.Content), m.About, m.AboutID), "\n")
		before, again := kept[key]
		switch {
		case !again:
			kept[key] = m
		case m.Conversation == f.in.Of.Name() && before.Conversation != m.Conversation:
			dropped[before.ID] = true
			kept[key] = m
		case before.Conversation != m.Conversation:
			dropped[m.ID] = true
		}
	}
	return slices.DeleteFunc(chosen, func(w weighed) bool { return dropped[w.id] })
}

// lasting is the share of its importance that a memory keeps at any age.
const lasting = 0.25

// Decayed returns the importance of the memory at a time, at most Importance. It decreases with the time since the memory was
// said: half of what can fade is gone after the half-life of its kind, which grows with each doubling of Confirmed.
// Identities and pinned memories do not fade. Of two memories that differ only in importance, the more important one always
// ranks higher.
func (m Memory) Decayed(now time.Time) float64 { return decayed(m.Memory, now) }

func decayed(m store.Memory, now time.Time) float64 {
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
