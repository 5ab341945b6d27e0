// Queries: what a question asks for, about whom, and about which time; and which terms of the index those are. A word that occurs
// nowhere is treated as a typo.

package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/words"
)

// Query is a parsed question.
type Query struct {
	text    string
	words   []words.Word // the meaningful ones, each term once, in order
	single  bool         // it has one such word
	first   bool         // it says I, me, my
	asker   string
	dates   []words.Span
	when    bool         // it asks for a time
	newest  bool         // it asks how things are now
	speaker string       // whom it is about; empty: not a member
	named   string       // the same, if the question has their name
	names   []words.Word // of members, which about removed from the words
	terms   []term       // that were looked up
	only    []int64      // the only messages to find, in order; nil: all
	order   Order
	pool    *Pool // what decides how rare a term is; nil: the index in which it is looked up
	meaning *Meaning
}

// Pool counts the documents of several indexes together, so that scores of results from different ones can be compared.
type Pool struct {
	size        int
	frequencies map[string]int
}

// Add counts the documents of an index with the terms of the question, which has not been looked up.
func (p *Pool) Add(q *Query, in Index) {
	if p.frequencies == nil {
		p.frequencies = make(map[string]int)
	}
	var terms []string
	for _, w := range q.words {
		terms = append(terms, w.Term)
	}
	for term, n := range in.Frequencies(terms) {
		p.frequencies[term] += n
	}
	p.size += in.Size()
}

// Among has a term count as rare as it is in p.
func (q *Query) Among(p *Pool) { q.pool = p }

// rarity returns the idf of a term that occurs in n documents of an index.
func (q *Query) rarity(text string, n int, in Index) float64 {
	size := in.Size()
	if q.pool != nil {
		size = q.pool.size
		n = max(n, q.pool.frequencies[text])
	}
	f := float64(n)
	all := float64(max(size, n))
	return math.Log(1 + (all-f+0.5)/(f+0.5))
}

const maxQuery = 1 << 16 // bytes of a question that are read: its beginning, and as much of its end

// Parse reads a question; asker may be unknown. now is the time of the question, in its time zone.
func Parse(text, asker string, now time.Time) *Query {
	if len(text) > maxQuery {
		text = text[:maxQuery/2] + "\n" + text[len(text)-maxQuery/2:]
	}
	q := &Query{text: text, asker: strings.TrimSpace(asker), dates: words.Dates(text, now)}
	all := words.Cut(text)
	known := make(map[string]bool)
	for n, w := range all {
		q.first = q.first || firstPerson[w.Folded]
		q.when = q.when || whenWords[w.Folded] || n > 0 && w.Folded == "long" && all[n-1].Folded == "how"
		q.newest = q.newest || nowWords[w.Folded]
		if !w.Stop && !known[w.Term] {
			q.words = append(q.words, w)
			known[w.Term] = true
		}
	}
	q.single = len(q.words) == 1
	return q
}

// IsAbout reports whether the question, which must have been looked up, is about a member of one of these names.
func (q *Query) IsAbout(names ...string) bool {
	return q.speaker != "" && slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, q.speaker) })
}

// about removes the names of members from the words, because they occur in all messages of these members, and sets whom the
// question is about: the member it names first, else the asker if it says I. A question of nothing but names keeps them.
func (q *Query) about(members map[string]string) {
	for _, w := range q.words {
		if name := members[w.Term]; name != "" && q.speaker == "" {
			q.speaker = name
		}
	}
	q.named = q.speaker
	if q.speaker == "" && q.first {
		q.speaker = q.asker
	}
	var names, rest []words.Word
	for _, w := range q.words {
		if members[w.Term] != "" {
			names = append(names, w)
		} else {
			rest = append(rest, w)
		}
	}
	if len(rest) > 0 {
		q.words = rest
		q.names = names
	}
}

// orNames has the names of members count as words again if nobody has used any other word of the question: what these people wrote, and
// what others wrote of them, may answer it.
func (q *Query) orNames(frequencies map[string]int) {
	isUsed := func(w words.Word) bool {
		return frequencies[w.Term] > 0 || q.pool != nil && q.pool.frequencies[w.Term] > 0
	}
	if len(q.names) > 0 && !slices.ContainsFunc(q.words, isUsed) {
		q.words = append(q.words, q.names...)
		q.single = true // their neighbours are no better than others
	}
}

// weak are the terms of words that only phrase a question, and of the lightest verbs.
var weak = words.Set(strings.Join(words.Terms(`activity according ask certain describe discuss do event example explain express feel get go happen
kind like long make many mention name new recent recently say share sort specific talk tell thing think time type
use various want way`), " "))

var firstPerson = words.Set("i me my mine myself ich mich mir mein meine meinen meinem meiner je moi yo mi mis mio eu meu minha я меня мне мой моя мое мои انا")

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
	q.orNames(frequencies)
	lighter := 1.0
	if q.isOnlyTime() {
		lighter = lightly
	}
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
		q.terms = append(q.terms, term{text, stems[text], n, weight * q.rarity(text, n, in)})
	}
	for _, w := range slices.Backward(q.words) {
		add(w.Term, lighter)
	}
	for _, w := range q.words {
		for n, text := range corrections[w.Term] {
			add(text, lighter/float64(n+1))
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
