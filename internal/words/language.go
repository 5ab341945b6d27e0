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

// Languages returns the two-letter codes of the supported languages in Latin script other than English.
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
	letters string // letters that few other languages have
}

// languages are in the order of languages.txt, the likeliest first: it decides between languages with equal counts.
var languages = []language{
	{"de", german.Stem, "äöüß"},
	{"fr", french.Stem, "çèêëœùûîô"},
	{"es", spanish.Stem, "ñ"},
	{"it", italian.Stem, ""},
	{"pt", portuguese.Stem, "ãõ"},
	{"nl", dutch.Stem, ""},
	{"sv", swedish.Stem, "åäö"},
	{"da", danish.Stem, "æøå"},
	{"no", norwegian.Stem, "æøå"},
	{"fi", finnish.Stem, "äö"},
	{"hu", hungarian.Stem, "őűáéö"},
	{"ro", romanian.Stem, "ăâțșţş"},
	{"tr", turkish.Stem, "ğışç"},
	{"ga", irish.Stem, ""},
}

//go:embed languages.txt
var stopLists string // a line for each language: its code and its stop words, folded

// common maps the stop words of all languages to the set of their languages, one bit each.
var common = sync.OnceValue(func() map[string]uint32 {
	of := make(map[string]uint32)
	i := 0
	for line := range strings.Lines(stopLists) {
		for _, word := range strings.Fields(line)[1:] {
			of[word] |= 1 << i
		}
		i++
	}
	return of
})

// languageOf returns the language of a text, as an index of languages, by its frequent words and its letters; -1: it is English,
// or cannot be detected. evidence is what countWords counts for it, and ahead how much more that is than for any other.
func languageOf(text string) (at, evidence, ahead int) {
	counts := countWords(text)
	at = slices.Index(counts[:], slices.Max(counts[:]))
	english := len(languages)
	if counts[at] == counts[english] {
		at = english
	}
	evidence = counts[at]
	counts[at] = 0
	ahead = evidence - slices.Max(counts[:])
	if at == english {
		at = -1
	}
	return at, evidence, ahead
}

// countWords counts the evidence for each language, English last: two for a frequent word, one for a word with rare letters.
func countWords(text string) (counts [32]int) {
	english := len(languages)
	cut(text, true, func(w Word, raw string) {
		if w.Stop {
			counts[english] += 2
		}
		accents := raw != w.Folded
		stop := common()[w.Folded]
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

// Stems returns the stems of the words of text by the rules of its language, without stop words: forms that Terms keeps apart
// share one. Each starts with the code of the language and a colon. There are none for English and unknown languages.
func Stems(text string) []string {
	at, _, _ := languageOf(text)
	if at < 0 {
		return nil
	}
	var stems []string
	cut(text, false, func(w Word, raw string) {
		if stem := languages[at].of(w, raw); stem != "" && common()[w.Folded]&(1<<at) == 0 {
			stems = append(stems, stem)
		}
	})
	return stems
}

// StemsToFind returns, by term, the stems of the words of text with which to search other texts: those of its language, none for
// English. If it cannot be detected, as with two or three words, they are those of each language that spoken returns.
func StemsToFind(text string, spoken func() []string) map[string][]string {
	var codes []string
	switch at, evidence, _ := languageOf(text); {
	case at >= 0 && evidence > 1:
		codes = []string{languages[at].code}
	case at >= 0 || evidence == 0:
		codes = spoken()
	}
	stems := make(map[string][]string)
	in := slices.DeleteFunc(slices.Clone(languages), func(l language) bool { return !slices.Contains(codes, l.code) })
	if len(in) == 0 {
		return stems
	}
	cut(text, false, func(w Word, raw string) {
		for _, l := range in {
			if stem := l.of(w, raw); stem != "" && !slices.Contains(stems[w.Term], stem) {
				stems[w.Term] = append(stems[w.Term], stem)
			}
		}
	})
	return stems
}

// of returns the stem of a word; "" if it has none.
func (l language) of(w Word, raw string) string {
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

// Language returns the two-letter code of the language of most of text, such as "en", "de" or "ja". Of languages in other scripts
// it detects Chinese and Japanese; others are "". sure is false if there is little evidence, or two languages are about equally
// likely.
func Language(text string) (code string, sure bool) {
	var han, kana, latin, others int
	for _, r := range normal(text) {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.IsLetter(r):
			others++
		}
	}
	if ahead := han + kana - (latin+others)/lettersOfWord; ahead > 0 {
		code = "zh"
		if kana*kanaShare > han+kana {
			code = "ja"
		}
		return code, ahead >= lead
	}
	if others > latin { // what it quotes in another language is not its own
		return "", false
	}
	at, evidence, ahead := languageOf(text)
	if evidence == 0 {
		return "", false
	}
	code = "en"
	if at >= 0 {
		code = languages[at].code
	}
	return code, ahead >= lead || ahead >= smallLead && evidence >= leastForSmallLead
}

// IsFrequent reports whether a folded word is a stop word of English or of one of the supported languages.
func IsFrequent(folded string) bool { return stopWords[folded] || common()[folded] != 0 }

// Differ reports whether text is surely in another language or script than other. A text that may be in both is not.
func Differ(text, other string) bool {
	if a, b := script(text), script(other); a == "" || b == "" || a != b {
		return a != "" && b != "" // nothing to compare
	}
	is, sure := Language(other)
	if !sure {
		return false
	}
	if at := slices.IndexFunc(languages, func(l language) bool { return l.code == is }); at >= 0 || is == "en" {
		counts := countWords(text)
		if at < 0 {
			at = len(languages)
		}
		return counts[at] < slices.Max(counts[:])
	}
	code, sure := Language(text)
	return sure && code != is
}

// script returns the name of the script of most letters of text; Chinese and Japanese are one. "": it has no letters.
func script(text string) (main string) {
	counts := map[string]int{}
	for _, r := range normal(text) {
		if !unicode.IsLetter(r) {
			continue
		}
		name := "other"
		for _, s := range scripts {
			if unicode.In(r, s.tables...) {
				name = s.name
				break
			}
		}
		counts[name]++
		if counts[name] > counts[main] {
			main = name
		}
	}
	return main
}

var scripts = []struct {
	name   string
	tables []*unicode.RangeTable
}{
	{"latin", []*unicode.RangeTable{unicode.Latin}},
	{"chinese", []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}},
	{"cyrillic", []*unicode.RangeTable{unicode.Cyrillic}},
	{"arabic", []*unicode.RangeTable{unicode.Arabic}},
	{"korean", []*unicode.RangeTable{unicode.Hangul}},
	{"greek", []*unicode.RangeTable{unicode.Greek}},
	{"hebrew", []*unicode.RangeTable{unicode.Hebrew}},
	{"devanagari", []*unicode.RangeTable{unicode.Devanagari}},
	{"thai", []*unicode.RangeTable{unicode.Thai}},
}
