// Spelling: words of a question that occur nowhere are taken for typos.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"slices"

	"cairn/words"
)

const (
	typosMended = 4 // words of one question; each costs some hundred looks at the index
	spellings   = 3 // that are tried of one
)

// vocabulary is an index as far as its terms go.
type vocabulary interface {
	df(term string) (int, error)                       // in how many documents a term stands
	size() int                                         // how many documents there are
	known(terms []string) ([]string, error)            // those of the terms that stand somewhere, in their order
	members(terms []string) (map[string]string, error) // the names of members that the terms are of
}

// lookups returns the terms to look up: those of the question that occur, and for a
// word that occurs nowhere what it may have been meant to be. Names of members are
// none of them, misspelt or not: the question is about these people.
func (i *inquiry) lookups(in vocabulary) ([]lookup, error) {
	dfs := make(map[string]int)
	meant := make(map[string][]string) // by the term of a typo
	terms := slices.Clone(i.order)
	mended := 0
	for _, w := range i.words {
		df, err := in.df(w.Term)
		if err != nil {
			return nil, err
		}
		if dfs[w.Term] = df; df > 0 || mended == typosMended {
			continue
		}
		known, err := in.known(words.Respell(w.Folded))
		if err != nil {
			return nil, err
		}
		mended++
		meant[w.Term] = known[:min(len(known), spellings)]
		terms = append(terms, meant[w.Term]...)
	}
	named, err := in.members(terms)
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
	var all []lookup
	add := func(term string, df int, weight float64) {
		if df > 0 && !slices.ContainsFunc(all, func(l lookup) bool { return l.term == term }) {
			all = append(all, lookup{term, df, tells(df, in.size(), weight*weightOf(term))})
		}
	}
	for _, w := range i.words {
		add(w.Term, dfs[w.Term], 1)
	}
	for _, w := range i.words {
		for n, term := range meant[w.Term] {
			df, err := in.df(term)
			if err != nil {
				return nil, err
			}
			add(term, df, respelt/float64(n+1))
		}
	}
	return all, nil
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
