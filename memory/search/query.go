// Queries: what a question asks for, about whom, and about which time.

package search

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/words"
)

// Query is a parsed question.
type Query struct {
	text    string
	words   []words.Word // the meaningful ones, each term once, in order
	single  bool         // it has one such word
	first   bool         // it says I, me, my
	asker   string
	dates   []words.Span
	when    bool   // it asks for a time
	speaker string // whom it is about; empty: not a member
	terms   []term // that were looked up
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

// about removes the names of members from the words, because they occur in everything these members said, and sets whom the
// question is about: the member it names first, else the asker if it says I. A question of nothing but names keeps them.
func (q *Query) about(members map[string]string) {
	for _, w := range q.words {
		if name := members[w.Term]; name != "" && q.speaker == "" {
			q.speaker = name
		}
	}
	if q.speaker == "" && q.first {
		q.speaker = q.asker
	}
	rest := slices.DeleteFunc(slices.Clone(q.words), func(w words.Word) bool { return members[w.Term] != "" })
	if len(rest) > 0 {
		q.words = rest
	}
}

// weak are the terms of words that only phrase a question, and of the lightest verbs.
var weak = words.Set(strings.Join(words.Terms(`activity according ask certain describe discuss do event example explain express feel get go happen
kind like long make many mention name new recent recently say share sort specific talk tell thing think time type
use various want way`), " "))

// timeWords say when something was, besides dates.
var timeWords = words.Set(`ago before day days last later month months morning next night recently since soon spring
summer tomorrow tonight week weeks weekend winter year years monday tuesday wednesday thursday friday saturday
sunday just`)

var (
	firstPerson = words.Set("i me my mine myself ich mich mir mein meine meinen meinem meiner je moi yo mi mis mio eu meu minha я меня мне мой моя мое мои انا")
	whenWords   = words.Set("when wann いつ quand cuando quando когда متى")
)

// tellsTime reports whether a word of text says a time.
func tellsTime(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) <= len("wednesday") && timeWords[strings.ToLower(word)] {
			return true
		}
	}
	return false
}
