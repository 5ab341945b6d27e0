package simulate

import (
	"encoding/json"
	"slices"
	"strings"

	"cairn/words"
)

// Question is a question about a recording.
type Question struct {
	Text     string          `json:"question"`
	Answer   json.RawMessage `json:"answer"`   // a string or a number
	Evidence []string        `json:"evidence"` // ids of the messages that answer it
	Category int             `json:"category"`
}

// NoAnswer is the category of questions that the recording does not answer.
const NoAnswer = 5

// AnswerText returns the answer as text.
func (q Question) AnswerText() string {
	var text string
	if json.Unmarshal(q.Answer, &text) == nil {
		return text
	}
	return string(q.Answer)
}

// Seqs returns the distinct seqs of the evidence. One text may contain several ids; unknown ids are
// skipped.
func (q Question) Seqs(place map[string]int64) (seqs []int64) {
	for _, text := range q.Evidence {
		for id := range strings.FieldsFuncSeq(text, func(sep rune) bool { return strings.ContainsRune(" ;,", sep) }) {
			if seq := place[id]; seq != 0 {
				seqs = append(seqs, seq)
			}
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// Told contains the lines of summaries, as terms.
type Told struct {
	lines  []summaryLine
	rarity Rarity
}

type summaryLine struct {
	author string
	terms  map[string]bool
}

// NewTold returns the lines of summaries. rarity contains the weights of terms.
func NewTold(rarity Rarity, summaries ...string) *Told {
	t := &Told{rarity: rarity}
	for _, text := range summaries {
		for line := range strings.Lines(text) {
			if author, said, found := strings.Cut(line, ": "); found {
				t.lines = append(t.lines, summaryLine{author, SetOf(words.Content(said))})
			}
		}
	}
	return t
}

const (
	leastWords = 3       // minimum number of content words of a sentence
	leastShare = 2. / 3. // minimum share of a sentence's weight in one line
)

// Tells reports whether a line contains a sentence of an author's message.
func (t *Told) Tells(author, text string) bool {
	for _, sentence := range words.Sentences(text) {
		terms := SetOf(words.Content(sentence))
		if len(terms) < leastWords {
			continue
		}
		all := 0.0
		for term := range terms {
			all += t.rarity[term]
		}
		for _, l := range t.lines {
			there := 0.0
			for term := range terms {
				if l.terms[term] {
					there += t.rarity[term]
				}
			}
			if l.author == author && there >= leastShare*all {
				return true
			}
		}
	}
	return false
}

// SetOf returns a set of terms.
func SetOf(terms []string) map[string]bool {
	set := make(map[string]bool, len(terms))
	for _, term := range terms {
		set[term] = true
	}
	return set
}
