// Questions: what is asked for, whom it is about, and of what time.

package memory

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/words"
)

// Question is what somebody wants to know of what was said.
type Question struct {
	Text   string
	Asker  string    // who asks, by name: "I" in Text is them; empty: nobody knows
	Limit  int       // how many messages at most, 1000 in any case; 0 or less: none
	Before int64     // only messages with a smaller seq; 0: all
	Since  time.Time // only messages said then or later; zero: all. It is found as if they stood in that order
	Now    time.Time // when it is asked: "last week" is the one before; zero: now
}

// Asks reports whether the text asks something. On recorded conversations that holds for
// all questions about the past, and for three of ten messages: for the others nothing
// needs to be recalled unasked.
func (q Question) Asks() bool { return words.IsQuestion(q.Text) }

// inquiry is a question as ranking reads it.
type inquiry struct {
	text    string
	words   []words.Word // that tell something, each term once, in their order
	single  bool         // it has one such word
	first   bool         // it says I, me, my
	asker   string
	dates   []words.Span
	when    bool   // it asks for a time
	speaker string // whom it is about, empty if it names no member
}

const (
	maxFound = 1000    // messages that one question finds
	maxQuery = 1 << 16 // bytes of a question that are read: its beginning, and as much of its end
)

func (q Question) inquiry() inquiry {
	now := q.Now
	if now.IsZero() {
		now = time.Now()
	}
	text := q.Text
	if len(text) > maxQuery {
		text = text[:maxQuery/2] + "\n" + text[len(text)-maxQuery/2:]
	}
	i := inquiry{text: text, asker: strings.TrimSpace(q.Asker), dates: words.Dates(text, now.Local())}
	all := words.Cut(text)
	known := make(map[string]bool)
	for n, w := range all {
		i.first = i.first || firstPerson[w.Folded]
		i.when = i.when || whenWords[w.Folded] ||
			n > 0 && (w.Folded == "long" && all[n-1].Folded == "how" ||
				timeUnits[w.Folded] && (all[n-1].Folded == "what" || all[n-1].Folded == "which"))
		if !w.Stop && !known[w.Term] {
			i.words = append(i.words, w)
			known[w.Term] = true
		}
	}
	i.single = len(i.words) == 1
	return i
}

// about takes the names of members out of the words, for they stand on everything
// that these said, and notes whom the question is about: the member it names first,
// else the asker if it says I. Are names all there is, they stay.
func (i *inquiry) about(members map[string]string) {
	for _, w := range i.words {
		if name := members[w.Term]; name != "" && i.speaker == "" {
			i.speaker = name
		}
	}
	if i.speaker == "" && i.first {
		i.speaker = i.asker
	}
	rest := slices.DeleteFunc(slices.Clone(i.words), func(w words.Word) bool { return members[w.Term] != "" })
	if len(rest) > 0 {
		i.words = rest
	}
}

// weightOf is what a word of a question weighs beside its rareness: words with
// which people put a question say less about the answer.
func weightOf(term string) float64 {
	if weak[term] {
		return weakWord
	}
	return 1
}

// weak are the terms of words with which people put questions, and of the lightest verbs.
var weak = termSet(`activity according ask certain describe discuss do event example explain express feel get go happen
kind like long make many mention name new recent recently say share sort specific talk tell thing think time type
use various want way`)

// timeWords tell when something was, beside dates.
var timeWords = wordSet(`ago before day days last later month months morning next night recently since soon spring
summer tomorrow tonight week weeks weekend winter year years monday tuesday wednesday thursday friday saturday
sunday just gestern heute morgen woche wochen monat monate jahr jahre letzte letzten vor bald abend`)

var (
	firstPerson = wordSet("i me my mine myself ich mich mir mein meine meinen meinem meiner")
	whenWords   = wordSet("when wann いつ quand cuando когда")
	timeUnits   = wordSet("time date day month year week weekday season")
)

// tellsTime reports whether a word of text tells a time. It is asked for many messages.
func tellsTime(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) <= len("wednesday") && timeWords[strings.ToLower(word)] {
			return true
		}
	}
	return false
}

func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

func termSet(list string) map[string]bool {
	set := make(map[string]bool)
	for _, term := range words.Terms(list) {
		set[term] = true
	}
	return set
}
