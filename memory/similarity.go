// Similarity: which memories say the same as a draft, or nearly. It calls no model, so when in
// doubt it keeps two facts.

package memory

import (
	"database/sql"
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

// inOtherWords returns the oldest memory in a state, about the same person, that says the same as a draft: the same
// words that count, in the same order, so numbers, names, negations, tenses and who does what to whom are the same. 0:
// there is none.
func inOtherWords(c *store.Conversation, tx *store.Tx, d draft, state string) int64 {
	for _, m := range similar(c, tx, d, state, 1) { // weightless words are not terms
		if m.folded == d.folded || sameFact(d.Content, m.content) {
			return m.id
		}
	}
	return 0
}

func sameFact(a, b string) bool {
	is := factWords(a)
	return len(is) > 0 && slices.Equal(is, factWords(b))
}

// candidate is a memory that may say the same as a draft.
type candidate struct {
	id              int64
	content, folded string
}

// similar finds memories in a state, about the same person as a draft, that have at least a given
// share of its terms, oldest first.
func similar(c *store.Conversation, tx *store.Tx, d draft, state string, share float64) []candidate {
	terms := termsOf(d.Content)
	return store.List(tx, func(rows *sql.Rows, m *candidate) error { return rows.Scan(&m.id, &m.content, &m.folded) },
		`SELECT id, content, folded FROM memories m WHERE id IN (SELECT memory FROM memory_terms
			WHERE term IN (SELECT value FROM json_each(?)) AND conversation = ? GROUP BY memory HAVING count(*) >= ?)
		AND state = ? AND about = ? COLLATE NOCASE AND `+aboutOf+` IN ('', ?) ORDER BY id`,
		jsonList(terms), c.ID(), share*float64(len(terms)), state, d.About, d.AboutID)
}

// termsOf returns the terms of a fact, each once, sorted.
func termsOf(content string) []string {
	terms := store.MemoryTerms(content, "")
	slices.Sort(terms)
	return slices.Compact(terms)
}

// minSimilarity is the minimum share of common words at which one fact may supersede another.
const minSimilarity = 0.5

// closest finds the active memory that is most like a draft but says something else: the draft may
// supersede it. found is false if none is similar enough.
func closest(c *store.Conversation, tx *store.Tx, d draft) (most candidate, found bool) {
	is, best := termsOf(d.Content), minSimilarity
	for _, m := range similar(c, tx, d, "active", minSimilarity) {
		says := termsOf(m.content)
		all := len(termsOf(d.Content + "\n" + m.content))
		if share := float64(len(is)+len(says)-all) / float64(all); share >= best {
			most, best, found = m, share, true
		}
	}
	return most, found
}
