// Spelling: words of a question that occur nowhere are taken for typos.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"

	"cairn/words"
)

const (
	typosMended = 4 // words of one question; each costs some hundred looks at the index
	spellings   = 3 // that are tried of one
)

// maxTerms is how many terms of a question are looked up: the rarest, and of equally
// rare ones the last, for a question stands behind what it is about.
const maxTerms = 64

// vocabulary is an index as far as its terms go.
type vocabulary interface {
	dfs(terms []string) (map[string]int, error)        // in how many documents each term stands
	size() int                                         // how many documents there are
	languages() ([]string, error)                      // of the stems that there are, see words.Stems
	known(terms []string) ([]string, error)            // those of the terms that stand somewhere, in their order
	members(terms []string) (map[string]string, error) // the names of members that the terms are of
}

// The condition that an index has stems of the language j.value.
const (
	stemsOf    = "EXISTS (SELECT 1 FROM "
	ofLanguage = "term > j.value || ':' AND term < j.value || ';')"
)

// lookups returns the terms to look up, sorted, so that scores add up in one order: those
// of the question that occur, and for a word that occurs nowhere what it may have been
// meant to be. Names of members are none of them, misspelt or not: the question is about
// these people.
func (i *inquiry) lookups(in vocabulary) ([]lookup, error) {
	stems, err := words.StemsToFind(i.text, in.languages)
	if err != nil {
		return nil, err
	}
	var terms []string
	for _, w := range i.words {
		terms = append(append(terms, w.Term), stems[w.Term]...)
	}
	dfs, err := in.dfs(terms)
	if err != nil {
		return nil, err
	}
	for term, all := range stems {
		for _, stem := range all {
			dfs[term] = max(dfs[term], dfs[stem])
		}
	}
	meant, err := i.meant(in, dfs)
	if err != nil {
		return nil, err
	}
	var found []lookup
	has := make(map[string]bool)
	add := func(term string, weight float64) {
		if df := dfs[term]; df > 0 && !has[term] {
			has[term] = true
			found = append(found, lookup{term, stems[term], df, tells(df, in.size(), weight*weightOf(term))})
		}
	}
	for _, w := range slices.Backward(i.words) {
		add(w.Term, 1)
	}
	for _, w := range i.words {
		for n, term := range meant[w.Term] {
			add(term, respelt/float64(n+1))
		}
	}
	slices.SortStableFunc(found, func(a, b lookup) int { return cmp.Compare(a.df, b.df) })
	found = found[:min(len(found), maxTerms)]
	slices.SortFunc(found, func(a, b lookup) int { return cmp.Compare(a.term, b.term) })
	return found, nil
}

// meant returns for the words of the question that occur nowhere the terms that they may
// be typos of, and adds to dfs how often these stand. It takes the names of members out of
// the question.
func (i *inquiry) meant(in vocabulary, dfs map[string]int) (map[string][]string, error) {
	meant := make(map[string][]string) // by the term of a typo
	var terms, spelt []string
	for _, w := range slices.Backward(i.words) {
		terms = append(terms, w.Term)
		if dfs[w.Term] > 0 || len(meant) == typosMended {
			continue
		}
		known, err := in.known(words.Respell(w.Folded))
		if err != nil {
			return nil, err
		}
		meant[w.Term] = known[:min(len(known), spellings)]
		spelt = append(spelt, meant[w.Term]...)
	}
	more, err := in.dfs(spelt)
	if err != nil {
		return nil, err
	}
	maps.Copy(dfs, more)
	named, err := in.members(append(terms, spelt...))
	if err != nil {
		return nil, err
	}
	for typo, known := range meant {
		for _, term := range known {
			if named[typo] == "" && named[term] != "" {
				named[typo] = named[term]
			}
		}
	}
	i.about(named)
	return meant, nil
}

// among returns those of the terms that exist, in their order; exists is what chooses
// them as j.value.
func among(tx *transaction, terms []string, exists string, args ...any) ([]string, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(terms)
	if err != nil {
		return nil, err
	}
	var found []string
	err = each(tx, func(rows *sql.Rows) error {
		var term string
		err := rows.Scan(&term)
		found = append(found, term)
		return err
	}, "SELECT value FROM json_each(?) j WHERE "+exists, append([]any{string(list)}, args...)...)
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(slices.Index(terms, a), slices.Index(terms, b)) })
	return found, err
}
