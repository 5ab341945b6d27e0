// Language detection by script, frequent words and letters.

package words

import "unicode"

const (
	// lead is how far a text's language must be ahead of all others to be sure: two of its frequent
	// words, or as many letters of its script. smallLead, one word, suffices if there are three in
	// all: neighbours such as Spanish and Portuguese share many.
	lead, smallLead, leastForSmallLead = 4, 2, 6

	lettersOfWord = 4 // letters of a word, as against one character of Chinese
	kanaShare     = 8 // Japanese has at least one kana among this many characters
)

// Language returns the two-letter code of the language of most of text, such as "en", "de" or "ja".
// Of languages in other scripts it detects Chinese, Japanese and Korean. It is "" for all other
// languages, and if the language cannot be detected. sure is false if there is little evidence, or
// two languages are about equally likely.
func Language(text string) (code string, sure bool) {
	latin, other, script := countScripts(text)
	if other > latin {
		return script, script != "" && other-latin >= lead
	}
	l, evidence, ahead := languageOf(text)
	switch {
	case evidence == 0:
		return "", false
	case l == nil:
		code = "en"
	default:
		code = l.code
	}
	return code, ahead >= lead || ahead >= smallLead && evidence >= leastForSmallLead
}

// countScripts counts the words in Latin letters, as four letters each, and the letters of other
// scripts. script is the language of the latter; "": unknown.
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
