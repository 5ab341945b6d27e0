// Folding: characters without case and accents.

package words

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// appendFolded appends r in lower case and without accents to word; an accent alone appends nothing. Vowel signs that are part of
// a word, as in Hindi, stay.
func appendFolded(word []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(word, byte(r))
	}
	if isAccent(r) {
		return word
	}
	r = unicode.ToLower(r)
	if spelled, ok := spelledOut[r]; ok {
		return append(word, spelled...)
	}
	return utf8.AppendRune(word, withoutAccent(r))
}

// foldWord returns a word, which is in lower case, without accents.
func foldWord(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			folded := append(make([]byte, 0, len(word)), word[:i]...)
			for _, r := range word[i:] {
				folded = appendFolded(folded, r)
			}
			return string(folded)
		}
	}
	return word // ASCII in lower case is already folded
}

// isAccent reports whether r is a mark that people omit when they search.
func isAccent(r rune) bool {
	return 0x300 <= r && r < 0x370 || // of Latin, Greek, Cyrillic
		0x591 <= r && r < 0x5c8 && unicode.IsMark(r) || // Hebrew points
		0x610 <= r && r < 0x6ee && unicode.IsMark(r) || r == 0x640 || // Arabic points and the tatweel
		0xfe00 <= r && r < 0xfe10 // variation selectors
}

// withoutAccent returns the base letter of a Latin, Greek or Arabic letter. In Cyrillic only ё is replaced, by е: й is a letter of
// its own.
func withoutAccent(r rune) rune {
	if r == 'ё' {
		return 'е'
	}
	if r >= 0x400 && r < 0x600 || r >= 0x700 && r < 0x1e00 || r >= 0x2000 {
		return r
	}
	var buf [utf8.UTFMax]byte
	bytes := norm.NFD.Properties(utf8.AppendRune(buf[:0], r)).Decomposition()
	if len(bytes) == 0 {
		return r
	}
	base, _ := utf8.DecodeRune(bytes)
	return base
}

// spelledOut are letters without an accent to remove.
var spelledOut = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ς': "σ",
}
