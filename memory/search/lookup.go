// Looking up: which index terms a question asks for. A word that occurs nowhere is treated as a
// typo.

package search

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"cairn/words"
)

const (
	// maxTerms is how many terms of a question are read: the rarest, and of equally rare ones the
	// last, because a question comes after its subject.
	maxTerms = 64

	typosCorrected = 4 // words of one question; each costs some hundred index lookups
	spellings      = 3 // tried for each word
)

// lookUp sets the terms to read, sorted, so that scores always add up in the same order: those of the question that occur in
// the index, and for a word that occurs nowhere the terms it may be a typo of. It leaves out names of members, misspelt or
// not: the question is about these people.
func (q *Query) lookUp(in Index) {
	stems := words.StemsToFind(q.text, in.Languages)
	if q.single { // one character of a script without spaces is indexed in pairs of characters, see words.Terms
		term := q.words[0].Term
		if r, size := utf8.DecodeRuneInString(term); size == len(term) && words.IsUnspaced(r) {
			stems[term] = in.Pairs(term)
		}
	}
	var terms []string
	for _, w := range q.words {
		terms = append(append(terms, w.Term), stems[w.Term]...)
	}
	frequencies := in.Frequencies(terms)
	for term, all := range stems {
		for _, stem := range all {
			frequencies[term] = max(frequencies[term], frequencies[stem])
		}
	}
	corrections := q.correct(in, frequencies)
	has := make(map[string]bool)
	add := func(text string, weight float64) {
		n := frequencies[text]
		if n == 0 || has[text] {
			return
		}
		has[text] = true
		if weak[text] {
			weight *= weakWord
		}
		q.terms = append(q.terms, term{text, stems[text], n, weight * idf(n, in.Size())})
	}
	for _, w := range slices.Backward(q.words) {
		add(w.Term, 1)
	}
	for _, w := range q.words {
		for n, text := range corrections[w.Term] {
			add(text, 1/float64(n+1))
		}
	}
	slices.SortStableFunc(q.terms, func(a, b term) int { return cmp.Compare(a.frequency, b.frequency) })
	q.terms = q.terms[:min(len(q.terms), maxTerms)]
	slices.SortFunc(q.terms, func(a, b term) int { return cmp.Compare(a.text, b.text) })
}

// correct returns, for the words of the question that occur nowhere, the terms that they may be typos of, and adds their
// frequencies. It removes the names of members from the question.
func (q *Query) correct(in Index, frequencies map[string]int) map[string][]string {
	corrections := make(map[string][]string) // by the term of a typo
	var terms []string
	for _, w := range slices.Backward(q.words) {
		terms = append(terms, w.Term)
		if frequencies[w.Term] > 0 || len(corrections) == typosCorrected {
			continue
		}
		respelt := words.Respell(w.Folded)
		found := in.Frequencies(respelt)
		known := slices.DeleteFunc(respelt, func(term string) bool { return found[term] == 0 })
		corrections[w.Term] = known[:min(len(known), spellings)]
		terms = append(terms, corrections[w.Term]...)
		maps.Copy(frequencies, found)
	}
	members := in.Members(terms)
	for typo, known := range corrections {
		for _, term := range known {
			members[typo] = cmp.Or(members[typo], members[term])
		}
	}
	q.about(members)
	return corrections
}
