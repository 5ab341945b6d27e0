// Telling the language of a text, by its script, its most frequent words and its letters.

package words

import "unicode"

const (
	// lead is how far the language of a text must be ahead of all others for one that is sure:
	// two of its frequent words, or as many letters of its script. One word is enough if three
	// speak for it: neighbours as Spanish and Portuguese share many.
	lead, smallLead, leastForSmallLead = 4, 2, 6

	lettersOfWord = 4 // a word in letters, against one character of Chinese
	kanaShare     = 8 // Japanese has one kana among so many characters, at least
)

// Language returns the code of the language that most of text is in: two letters, as "en",
// "de" or "ja". Of languages that are not in Latin letters it knows Chinese, Japanese and
// Korean. It is "" if nobody can tell, and for all other languages. sure is false if few words
// tell, or two languages are about as likely.
func Language(text string) (code string, sure bool) {
	latin, other, script := countScripts(text)
	if other > latin {
		return script, script != "" && other-latin >= lead
	}
	counts := countWords(text)
	best, second := -1, 0
	for i, n := range counts {
		if best < 0 || n > counts[best] {
			best = i
		}
	}
	if counts[best] == 0 {
		return "", false
	}
	for i, n := range counts {
		if i != best {
			second = max(second, n)
		}
	}
	code = "en"
	if english := len(languages); best != english && counts[english] < counts[best] {
		code = languages[best].code
	}
	ahead := counts[best] - second
	return code, ahead >= lead || ahead >= smallLead && counts[best] >= leastForSmallLead
}

// countScripts counts the words in Latin letters, as four letters each, and the letters of the
// other scripts. script is the language of those; "": one that is not known.
func countScripts(text string) (latin, other int, script string) {
	var han, kana, hangul int
	for _, r := range normal(text) {
		switch {
		case !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		default:
			other++
		}
	}
	latin /= lettersOfWord
	switch known := han + kana + hangul; {
	case other > known:
		return latin, other / lettersOfWord, ""
	case hangul > han+kana:
		return latin, known, "ko"
	case kana*kanaShare > han+kana:
		return latin, known, "ja"
	default:
		return latin, known, "zh"
	}
}
