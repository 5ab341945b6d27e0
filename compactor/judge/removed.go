package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/compactor/summarize"
	"cairn/internal/facts"
	"cairn/internal/words"
	"cairn/transcript"
)

// Without returns the judge of summaries whose lines people have removed or rewritten in earlier ones: lines that say the same are
// left out again.
func (j *Judge) Without(removed []transcript.DroppedLine) *Judge {
	without := *j
	without.removed = removed
	return &without
}

// removal returns the removed line that a line repeats; nil if there is none.
func (j *Judge) removal(line string) *transcript.DroppedLine {
	at := slices.IndexFunc(j.removed, func(l transcript.DroppedLine) bool {
		return j.repeatsLine(summarize.Statement(line), summarize.Statement(l.Text))
	})
	if at < 0 {
		return nil
	}
	return &j.removed[at]
}

// leastRepeated is the share of the words of two lines that both have if one repeats the other.
const leastRepeated = 0.7

// repeatsLine reports whether two lines say the same: they have the same words, apart from some that one of them leaves out, and the
// same negations, numbers and dates. A line with a word in place of another one may be the right one.
func (j *Judge) repeatsLine(a, b string) bool {
	if folded := words.Fold(a); folded == words.Fold(b) {
		return folded != ""
	}
	if strings.ContainsFunc(a+b, words.IsUnspaced) { // a denial may be one character of many
		return false
	}
	inA := wordsOfLine(a)
	inB := wordsOfLine(b)
	aInB := sharedWords(inA, inB)
	bInA := sharedWords(inB, inA)
	if max(aInB, bInA) < 1 || min(aInB, bInA) < leastRepeated || denials(a) != denials(b) {
		return false
	}
	languages := j.evidence().cast.languages
	return sameFacts(facts.Read(a, languages), facts.Read(b, languages))
}

// lineWord is a word of a line.
type lineWord struct {
	words.Word
	capital bool
}

// wordsOfLine returns the words of a line that mean something.
func wordsOfLine(line string) (all []lineWord) {
	for _, field := range strings.FieldsFunc(line, parts) {
		first, _ := utf8.DecodeRuneInString(field)
		for _, w := range words.Cut(field) {
			if !w.Stop {
				all = append(all, lineWord{w, unicode.IsUpper(first)})
			}
		}
	}
	return all
}

// sharedWords returns the share of words that are, in some form, among others; 0 if there are none.
func sharedWords(some, others []lineWord) float64 {
	found := 0
	for _, w := range some {
		if slices.ContainsFunc(others, w.isFormOf) {
			found++
		}
	}
	return float64(found) / float64(max(len(some), 1))
}

// isFormOf reports whether two words are one with two endings. Names that begin in the same way are not.
func (w lineWord) isFormOf(other lineWord) bool {
	const ending, least = 2, 5 // letters
	if w.Folded == other.Folded || w.Term == other.Term {
		return true
	}
	a := []rune(w.Folded)
	b := []rune(other.Folded)
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	return !w.capital && !other.capital && common >= max(least, len(a)-ending, len(b)-ending)
}

// denials counts the words of a line that deny something.
func denials(line string) (n int) {
	for word := range strings.FieldsSeq(line) {
		word = words.Bare(word)
		if words.Denies(word) || denying[word] {
			n++
		}
	}
	return n
}

var denying = words.Set(`nicht kein keine keinen keiner keinem nie niemals niemand nichts ohne ne n'est pas jamais rien aucun aucune sans nunca nada nadie
ninguno ninguna ningún sin não ninguém nenhum nenhuma sem non mai niente nessuno nessuna senza не ни нет никогда никто ничего без nigdy nic nikt bez
değil yok hiç لا لم لن ليس नहीं मत न`)

// sameFacts reports whether two texts have the same numbers and dates.
func sameFacts(a, b facts.Text) bool {
	numbers := func(in, of facts.Text) bool {
		return !slices.ContainsFunc(in.Numbers, func(n facts.Number) bool {
			return !n.Weak && !slices.ContainsFunc(of.Numbers, func(m facts.Number) bool { return facts.Same(n, m) })
		})
	}
	return len(a.Dates) == len(b.Dates) && numbers(a, b) && numbers(b, a)
}
