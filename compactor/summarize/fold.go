// How summaries are folded without a model: full lines stay under their headings. What is dropped
// first is what the prompts tell a model to drop first.

package summarize

import (
	"slices"
	"strings"
	"unicode"

	"cairn/internal/lazy"
	"cairn/internal/words"
	"cairn/transcript"
)

// dropped lists the headings in the order in which their lines are dropped if there is too little
// room. Lines without a heading may be of any kind, so they go with those about people.
var dropped = []int{inQuotes, underFacts, underPreferences, underPeople, unheaded, underGoals, underDecisions, underQuestions}

// headingValue is the value of a heading's place in dropped. It exceeds that of any line's age.
const headingValue = 1 << 20

// rank sets the value of entries: by the words of focus, then by heading, then superseded lines last,
// then the newest first.
func rank(entries []*entry, focus map[string]bool) {
	for _, e := range entries {
		e.terms = plainTerms(e.text)
		e.value = headingValue*slices.Index(dropped, e.under) + e.place
		if slices.ContainsFunc(e.terms, func(term string) bool { return focus[term] }) {
			e.value += headingValue * len(dropped)
		}
	}
	latest := newLatest(entries)
	for _, e := range entries {
		if latest.supersedes(e) {
			e.value -= headingValue / 2
		}
	}
}

// foldLines returns the lines of summaries, oldest first, that fit into limit tokens, in order.
func foldLines(texts []string, limit int, focus map[string]bool) []*entry {
	entries := once(entriesOf(texts))
	rank(entries, focus)
	entries = withoutAnswered(entries)
	return fitting(entries, limit)
}

// once drops lines that a later one repeats, and adds their citations to it.
func once(entries []*entry) []*entry {
	last := map[string]*entry{}
	for _, e := range slices.Backward(entries) {
		first, below, _ := strings.Cut(e.text, "\n")
		key := words.Fold(transcript.Citations.ReplaceAllString(first, ""))
		later := last[key]
		if key == "" {
			continue
		}
		if later == nil {
			last[key] = e
			continue
		}
		first, laterBelow, more := strings.Cut(later.text, "\n")
		if below != "" && below != laterBelow {
			continue
		}
		later.text = withCitations(first, e.text)
		if more {
			later.text += "\n" + laterBelow
		}
		e.text = ""
	}
	return slices.DeleteFunc(entries, func(e *entry) bool { return e.text == "" })
}

// seqPattern matches the number of a message.
var seqPattern = lazy.Pattern(`#[0-9]+`)

// withCitations adds to the last citation of a line the messages that another line cites; a line
// without one gets none.
func withCitations(line, other string) string {
	at := transcript.Citations.FindAllStringIndex(line, -1)
	if len(at) == 0 {
		return line
	}
	begin := at[len(at)-1][0]
	end := at[len(at)-1][1]
	var seqs []string
	for _, citation := range transcript.Citations.FindAllString(other, -1) {
		seqs = append(seqs, seqPattern().FindAllString(citation, -1)...)
	}
	seqs = slices.DeleteFunc(seqs, func(seq string) bool { return slices.Contains(seqPattern().FindAllString(line, -1), seq) })
	if len(seqs) == 0 {
		return line
	}
	opening := strings.IndexByte(line[begin:end], '#')
	return line[:begin+opening] + strings.Join(seqs, ", ") + ", " + line[begin+opening:]
}

const (
	fewestTerms   = 3   // of a line that is compared with others: fewer are common to many
	sameSubject   = 0.7 // share of a line's terms, in a later one, that make both about one thing
	answersShare  = 0.8 // likewise, of a question's
	maxPostings   = 40  // lines with a term that are looked at: terms of more say little
	fewestInQuery = 2
)

// latest finds lines about the same thing.
type latest struct {
	byTerm map[string][]*entry
}

func newLatest(entries []*entry) latest {
	l := latest{map[string][]*entry{}}
	for _, e := range entries {
		for _, term := range e.terms {
			if len(l.byTerm[term]) < maxPostings {
				l.byTerm[term] = append(l.byTerm[term], e)
			}
		}
	}
	return l
}

// about returns the later lines that have at least share of the terms.
func (l latest) about(e *entry, terms []string, share float64) (later []*entry) {
	common := map[*entry]int{}
	for _, term := range terms {
		for _, other := range l.byTerm[term] {
			if other.place > e.place {
				common[other]++
			}
		}
	}
	for other, n := range common {
		if float64(n) >= share*float64(len(terms)) {
			later = append(later, other)
		}
	}
	return later
}

// supersedes reports whether a later line of the same heading, in a later part, says something else
// about the same thing: most words are the same, numbers are not.
func (l latest) supersedes(e *entry) bool {
	plain := slices.DeleteFunc(slices.Clone(e.terms), hasDigit)
	if len(plain) < fewestTerms {
		return false
	}
	return slices.ContainsFunc(l.about(e, plain, sameSubject), func(later *entry) bool {
		return later.under == e.under && later.part > e.part
	})
}

func hasDigit(term string) bool { return strings.ContainsFunc(term, unicode.IsNumber) }

// withoutAnswered drops open questions that a later part answers: a decision, goal or fact there has
// nearly all words of the question, apart from names and numbers, and denies nothing.
func withoutAnswered(entries []*entry) []*entry {
	l := newLatest(entries)
	return slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool {
		if e.under != underQuestions || strings.ContainsFunc(e.text, words.IsUnspaced) { // pairs of characters are no words
			return false
		}
		terms := questionTerms(e)
		return len(terms) >= fewestInQuery && slices.ContainsFunc(l.about(e, terms, answersShare), func(answer *entry) bool {
			return answer.part > e.part && (answer.under == underDecisions || answer.under == underFacts || answer.under == underGoals) && !open(answer.text)
		})
	})
}

// questionTerms returns the terms that a question is about: without names and numbers, which are those of
// who wrote it and when.
func questionTerms(e *entry) (terms []string) {
	first := true
	for field := range strings.FieldsSeq(Bullet().ReplaceAllString(transcript.Citations.ReplaceAllString(e.text, ""), "")) {
		name := unicode.IsUpper([]rune(strings.TrimLeft(field, "\"'“(") + " ")[0])
		if !first && !name || first && !name {
			for _, term := range words.Content(field) {
				if !hasDigit(term) && !asking[term] {
					terms = append(terms, term)
				}
			}
		}
		first = false
	}
	return distinct(terms)
}

// asking are the terms of how a summary reports a question in English.
var asking = words.Set("ask want know wonder need tell")

// open reports whether a line leaves something open.
func open(line string) bool {
	if words.IsQuestion(line) {
		return true
	}
	return slices.ContainsFunc(strings.Fields(line), func(word string) bool { return words.Denies(words.Bare(word)) || undecided[words.Bare(word)] })
}

var undecided = words.Set("yet still open unclear unknown undecided unresolved pending whether maybe perhaps noch offen unklar nicht kein keine encore pas aún todavía no não ainda sin sans ohne не нет пока nie brak")
