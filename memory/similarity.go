// Similarity: which memories say the same as a draft, or nearly. It calls no model, so when in
// doubt it keeps two facts.

package memory

import (
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

// sameFact reports whether two facts have the same words that count, in the same order, so numbers, names, negations,
// tenses and who does what to whom are the same.
func sameFact(a, b string) bool {
	is := factWords(a)
	return len(is) > 0 && slices.Equal(is, factWords(b))
}

// similar finds memories in one of the states, about the same person as a draft, that have at least a given
// share of its terms, oldest first.
func similar(c *store.Conversation, tx *store.Tx, d draft, share float64, states ...string) []Memory {
	terms := termsOf(d.Content)
	return ReadMemories(tx, `WHERE id IN (SELECT memory FROM memory_terms
			WHERE term IN (SELECT value FROM json_each(?)) AND conversation = ? GROUP BY memory HAVING count(*) >= ?)
		AND m.state IN (SELECT value FROM json_each(?)) AND m.about = ? COLLATE NOCASE AND `+aboutOf+` IN ('', ?) ORDER BY id`,
		jsonList(terms), c.ID(), share*float64(len(terms)), jsonList(states), d.About, d.AboutID)
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
// supersede it. Its ID is 0 if none is similar enough.
func closest(c *store.Conversation, tx *store.Tx, d draft) (most Memory) {
	is, best := termsOf(d.Content), minSimilarity
	for _, m := range similar(c, tx, d, minSimilarity, "active") {
		says := termsOf(m.Content)
		all := len(termsOf(d.Content + "\n" + m.Content))
		if share := float64(len(is)+len(says)-all) / float64(all); share >= best {
			most, best = m, share
		}
	}
	return most
}
