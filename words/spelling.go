// Spelling: the words that a typo may stand for.

package words

import "unicode/utf8"

const (
	shortestTypo = 4  // letters: a shorter word is one typo away from too many others
	longestTypo  = 24 // a longer one is not a word
)

// Respell returns the terms of all words one typo away from a folded word: a letter too many, one
// missing, a wrong one, or two swapped; the likelier kinds first, each term once. There are none
// for words of fewer than 4 letters, nor for scripts other than Latin and Cyrillic.
func Respell(word string) []string {
	letters := []rune(word)
	if len(letters) < shortestTypo || len(letters) > longestTypo {
		return nil
	}
	alphabet := alphabetOf(letters)
	if alphabet == "" {
		return nil
	}
	r := respeller{word: word, seen: map[string]bool{stem(word): true}}
	n := len(letters)
	for i := range n - 1 { // swapped
		r.add(letters[:i], letters[i+1:i+2], letters[i:i+1], letters[i+2:])
	}
	for i := range n { // one too many
		r.add(letters[:i], letters[i+1:])
	}
	for i := range n + 1 { // one missing
		for _, letter := range alphabet {
			r.add(letters[:i], []rune{letter}, letters[i:])
		}
	}
	for i := range n { // a wrong one
		for _, letter := range alphabet {
			r.add(letters[:i], []rune{letter}, letters[i+1:])
		}
	}
	return r.terms
}

// respeller collects the terms of spellings.
type respeller struct {
	word  string
	seen  map[string]bool
	terms []string
	buf   []byte
}

func (r *respeller) add(parts ...[]rune) {
	r.buf = r.buf[:0]
	for _, part := range parts {
		for _, letter := range part {
			r.buf = utf8.AppendRune(r.buf, letter)
		}
	}
	if term := stem(string(r.buf)); !r.seen[term] {
		r.seen[term] = true
		r.terms = append(r.terms, term)
	}
}

// alphabetOf returns the alphabet that contains all letters; "" if none does.
func alphabetOf(letters []rune) string {
	const latin, cyrillic = "abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя"
	for _, alphabet := range []struct {
		from, to rune
		letters  string
	}{{'a', 'z', latin}, {'а', 'я', cyrillic}} {
		all := true
		for _, r := range letters {
			all = all && alphabet.from <= r && r <= alphabet.to
		}
		if all {
			return alphabet.letters
		}
	}
	return ""
}
