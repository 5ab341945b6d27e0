// Spelling: the words that a typo may stand for.

package words

import (
	"slices"
	"strings"
)

const (
	shortestTypo = 4  // letters: a shorter word is one typo away from too many others
	longestTypo  = 24 // a longer one is not a word
)

// Respell returns the terms of all words one typo away from a folded word: a letter too many, one missing, a wrong one, or two
// swapped; the likelier kinds first, each term once. There are none for short words, nor for scripts without an alphabet.
func Respell(word string) []string {
	letters := []rune(word)
	if len(letters) < shortestTypo || len(letters) > longestTypo {
		return nil
	}
	alphabet := alphabetOf(word)
	if alphabet == "" {
		return nil
	}
	seen := map[string]bool{stem(word): true}
	var terms []string
	add := func(parts ...[]rune) {
		if term := stem(string(slices.Concat(parts...))); !seen[term] {
			seen[term] = true
			terms = append(terms, term)
		}
	}
	n := len(letters)
	for i := range n - 1 { // swapped
		add(letters[:i], letters[i+1:i+2], letters[i:i+1], letters[i+2:])
	}
	for i := range n { // one too many
		add(letters[:i], letters[i+1:])
	}
	for i := range n + 1 { // one missing
		for _, letter := range alphabet {
			add(letters[:i], []rune{letter}, letters[i:])
		}
	}
	for i := range n { // a wrong one
		for _, letter := range alphabet {
			add(letters[:i], []rune{letter}, letters[i+1:])
		}
	}
	return terms
}

// alphabets have the letters that are left after folding.
var alphabets = []string{
	"abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяєіїґ", "αβγδεζηθικλμνξοπρστυφχψω",
	"אבגדהוזחטיךכלםמןנסעףפץצקרשת", "ءابةتثجحخدذرزسشصضطظعغفقكلمنهوىي",
}

// alphabetOf returns the alphabet that contains all letters of a word; "" if none does.
func alphabetOf(word string) string {
	for _, alphabet := range alphabets {
		if strings.Trim(word, alphabet) == "" {
			return alphabet
		}
	}
	return ""
}
