// Similarity: which memories say the same as a draft, or nearly. It calls no model, so when in
// doubt it keeps two facts.

package memory

import (
	"database/sql"
	"maps"
	"slices"
	"strings"

	"cairn/store"
	"cairn/words"
)

// weightless words do not change the meaning of a fact and are not compared.
var weightless = strings.Fields("a an the that of at in on to for and is are am be do does also really very")

// factWords splits a fact into the words that count, without case and accents.
func factWords(content string) []string {
	return slices.DeleteFunc(strings.Fields(words.Fold(content)), func(word string) bool { return slices.Contains(weightless, word) })
}

// sameFact reports whether two wordings say the same: the same words that count, in the same
// order. So numbers, names, negations, tenses and who does what to whom are the same.
func sameFact(a, b []string) bool { return len(a) > 0 && slices.Equal(a, b) }

// maxCompared limits how many memories that share a word are compared: the newest.
const maxCompared = 200

// inOtherWords returns the oldest memory in a state, about the same person, that says the same as
// a draft; 0: there is none.
func inOtherWords(c *store.Conversation, tx *store.Tx, d draft, state string) (id int64, err error) {
	near, err := similar(c, tx, d, state, 1) // weightless words are not terms
	is := factWords(d.Content)
	for _, m := range near {
		if m.folded == d.folded || sameFact(is, factWords(m.content)) {
			return m.id, err
		}
	}
	return 0, err
}

// candidate is a memory that may say the same as a draft.
type candidate struct {
	id              int64
	content, folded string
}

// similar finds memories in a state, about the same person as a draft, that have at least a given
// share of its terms, oldest first.
func similar(c *store.Conversation, tx *store.Tx, d draft, state string, share float64) ([]candidate, error) {
	ids, err := sharingTerms(c, tx, d, share)
	if err != nil {
		return nil, err
	}
	return store.Select(tx, func(rows *sql.Rows, m *candidate) error { return rows.Scan(&m.id, &m.content, &m.folded) },
		"SELECT id, content, folded FROM memories m WHERE id IN (SELECT value FROM json_each(?)) AND conversation = ? AND state = ? AND about = ? COLLATE NOCASE AND "+aboutOf+" IN ('', ?) ORDER BY id",
		jsonList(ids), c.ID(), state, d.About, d.aboutID)
}

// sharingTerms returns memories with at least a given share of a draft's terms. Of each term only the
// newest memories are read; a term that very many memories have counts as if all had it.
func sharingTerms(c *store.Conversation, tx *store.Tx, d draft, share float64) (found []int64, err error) {
	counts, _ := store.CountTerms(store.MemoryTerms(d.Content, ""))
	lists, err := store.Column[string](tx, `SELECT (SELECT json_group_array(memory) FROM
			(SELECT memory FROM memory_terms WHERE term = j.value AND conversation = ? ORDER BY memory DESC LIMIT ?))
		FROM json_each(?) j`, c.ID(), maxCompared, jsonList(slices.Sorted(maps.Keys(counts)))) // one text for each term: handing over a row costs more than reading it
	if err != nil {
		return nil, err
	}
	has, frequent := make(map[int64]int), 0
	for _, list := range lists {
		var ids []int64
		if err := store.FromJSON(list, &ids); err != nil {
			return nil, err
		}
		counts := 1
		if len(ids) == maxCompared {
			counts = 0
			frequent++
		}
		for _, id := range ids {
			has[id] += counts
		}
	}
	for id, n := range has {
		if float64(n+frequent) >= share*float64(len(lists)) {
			found = append(found, id)
		}
	}
	return found, nil
}

// minSimilarity is the minimum share of common words at which one fact may supersede another.
const minSimilarity = 0.5

// closest finds the active memory that is most like a draft but says something else: the draft may
// supersede it. found is false if none is similar enough.
func closest(c *store.Conversation, tx *store.Tx, d draft) (most candidate, found bool, err error) {
	near, err := similar(c, tx, d, "active", minSimilarity)
	if err != nil {
		return most, false, err
	}
	is, _ := store.CountTerms(store.MemoryTerms(d.Content, ""))
	best := minSimilarity
	for _, m := range near {
		says, _ := store.CountTerms(store.MemoryTerms(m.content, ""))
		common := 0
		for term := range says {
			if is[term] > 0 {
				common++
			}
		}
		if share := float64(common) / float64(len(is)+len(says)-common); share >= best {
			most, best, found = m, share, true
		}
	}
	return most, found, nil
}
