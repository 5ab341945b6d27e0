// Languages: detecting a text's language, and stemming its words by the rules of that language.

package words

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Languages returns the two-letter codes of the supported languages in Latin script other than
// English.
func Languages() []string {
	codes := make([]string, len(languages))
	for i, l := range languages {
		codes[i] = l.code
	}
	return codes
}

// language is a language in Latin script. In other scripts the script identifies the language.
type language struct {
	code    string
	stem    func(*snowballstem.Env) bool
	letters string                 // letters that few other languages have
	stops   func() map[string]bool // folded
}

// languages are in descending order of likelihood: it decides between languages with equal counts.
var languages = []language{
	{"de", german.Stem, "äöüß", stopsOf("de")},
	{"fr", french.Stem, "çèêëœùûîô", stopsOf("fr")},
	{"es", spanish.Stem, "ñ", stopsOf("es")},
	{"it", italian.Stem, "", stopsOf("it")},
	{"pt", portuguese.Stem, "ãõ", stopsOf("pt")},
	{"nl", dutch.Stem, "", stopsOf("nl")},
	{"sv", swedish.Stem, "åäö", stopsOf("sv")},
	{"da", danish.Stem, "æøå", stopsOf("da")},
	{"no", norwegian.Stem, "æøå", stopsOf("no")},
	{"fi", finnish.Stem, "äö", stopsOf("fi")},
	{"hu", hungarian.Stem, "őűáéö", stopsOf("hu")},
	{"ro", romanian.Stem, "ăâțșţş", stopsOf("ro")},
	{"tr", turkish.Stem, "ğışç", stopsOf("tr")},
	{"ga", irish.Stem, "", stopsOf("ga")},
}

//go:embed languages.txt
var stopLists string // a line for each language: its code and its stop words, folded

// stopsOf returns a function that reads the stop words of a language when they are needed.
func stopsOf(code string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		_, list, _ := strings.Cut(stopLists, code+": ")
		list, _, _ = strings.Cut(list, "\n")
		return readSet(list)
	})
}

// common maps the stop words of all languages to the set of their languages, one bit each.
var common = sync.OnceValue(func() map[string]uint32 {
	of := make(map[string]uint32)
	for i, l := range languages {
		for word := range l.stops() {
			of[word] |= 1 << i
		}
	}
	return of
})

// languageOf returns the language of a text, by its frequent words and its letters; nil: it is
// English, or cannot be detected. evidence is what countWords counts for it, and ahead how much more
// that is than for any other.
func languageOf(text string) (l *language, evidence, ahead int) {
	counts := countWords(text)
	best, english := slices.Index(counts[:], slices.Max(counts[:])), len(languages)
	if counts[best] == counts[english] {
		best = english
	} else {
		l = &languages[best]
	}
	evidence, counts[best] = counts[best], 0
	return l, evidence, evidence - slices.Max(counts[:])
}

// countWords counts the evidence for each language, English last: two for a frequent word, one for
// a word with letters that few others have.
func countWords(text string) (counts [32]int) {
	english := len(languages)
	cut(text, true, func(w Word, raw string) {
		if w.Stop {
			counts[english] += 2
		}
		accents, stop := raw != w.Folded, common()[w.Folded]
		if stop == 0 && !accents {
			return
		}
		for i := range languages {
			if stop&(1<<i) != 0 {
				counts[i] += 2
			} else if accents && strings.ContainsAny(raw, languages[i].letters) {
				counts[i]++
			}
		}
	})
	return counts
}

// Stems returns the stems of the words of text by the rules of its language, without stop words:
// forms that Terms keeps apart share one. Each starts with the code of the language and a colon. It
// is empty for English, and if the language cannot be detected.
func Stems(text string) []string {
	l, _, _ := languageOf(text)
	if l == nil {
		return nil
	}
	var stems []string
	cut(text, false, func(w Word, raw string) {
		if stem := l.of(w, raw); stem != "" && !l.stops()[w.Folded] {
			stems = append(stems, stem)
		}
	})
	return stems
}

// StemsToFind returns, by term, the stems of the words of text with which to search other texts:
// those of its language, none for English. If the language cannot be detected, as with two or three
// words, they are those of each language that spoken returns.
func StemsToFind(text string, spoken func() ([]string, error)) (map[string][]string, error) {
	var in []*language
	switch l, evidence, _ := languageOf(text); {
	case l != nil && evidence > 1:
		in = append(in, l)
	case l != nil || evidence == 0:
		codes, err := spoken()
		if err != nil {
			return nil, err
		}
		for i := range languages {
			if slices.Contains(codes, languages[i].code) {
				in = append(in, &languages[i])
			}
		}
	}
	stems := make(map[string][]string)
	if len(in) == 0 {
		return stems, nil
	}
	cut(text, false, func(w Word, raw string) {
		for _, l := range in {
			if stem := l.of(w, raw); stem != "" && !slices.Contains(stems[w.Term], stem) {
				stems[w.Term] = append(stems[w.Term], stem)
			}
		}
	})
	return stems, nil
}

// of returns the stem of a word; "" if it has none.
func (l *language) of(w Word, raw string) string {
	if w.Folded[0] < 'a' || w.Folded[0] > 'z' {
		return ""
	}
	env := snowballstem.NewEnv(clip(raw))
	l.stem(env)
	if env.Current() == "" {
		return ""
	}
	return l.code + ":" + clip(foldWord(env.Current()))
}

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
